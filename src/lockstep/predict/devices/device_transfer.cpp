#include "lockstep/predict/devices/device_transfer.h"

#include "lockstep/base/error.h"
#include "lockstep/predict/devices/batch_transfer.h"
#include "lockstep/predict/odds.h"

namespace lockstep::predict {
namespace {

/// The batch of a step where neither the question nor the measurements state one.
constexpr double kUsualBatch = 128;

std::string network_of(std::span<const TableSeries> series, const DeviceQuestion& question) {
  if (!question.network.empty()) return question.network;
  if (!series.empty() && !series.front().model.empty()) return series.front().model;
  throw Error(ErrorKind::kUsage, "the network is unknown: no measured run states it",
              "add --network dcgan, resnet18-cifar or fashion");
}

double batch_of(std::span<const TableSeries> series, const DeviceQuestion& question) {
  if (question.batch > 0) return static_cast<double>(question.batch);
  const double measured = series.empty() ? 0 : fixed_batch(series.front()).value_or(0);
  return measured > 0 ? measured : kUsualBatch;
}

}  // namespace

bool measured_on(const std::string& series_device, const Device& device) {
  const auto listed = find_device(series_device);
  if (!device.calibrated) return listed && listed->name == device.name;
  return !listed && (series_device.empty() || series_device.starts_with("cpu") ||
                     series_device.starts_with("CPU"));
}

DeviceTransfer transfer_to_device(std::span<const TableSeries> series, const Device& from,
                                  const Device& to, const DeviceQuestion& question) {
  const TrainingCost cost = training_cost(network_of(series, question));
  DeviceTransfer result{from, to, cost.model, batch_of(series, question), 0, {}, {}, {}};
  for (const auto& part : cost.parts) result.layers += part.layers.size();
  result.ratio = device_ratio(cost, from, to, result.batch);
  result.bound = bound_step(cost, to, result.batch);
  for (const TableSeries& one : series) {
    if (one.model != series.front().model) continue;
    JobQuestion asked;
    asked.workers = static_cast<double>(question.workers);
    if (question.epochs > 0) asked.epochs = question.epochs;
    const JobPrediction job = predict_job(one, asked);
    const auto time = job.epoch_s ? job.epoch_s : job.total_s;
    if (!time) continue;
    result.times.push_back({one.name, job.epoch_s.has_value(), product(*time, result.ratio)});
  }
  return result;
}

}  // namespace lockstep::predict
