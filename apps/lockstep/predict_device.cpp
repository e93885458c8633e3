#include "predict_device.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lockstep/base/error.h"
#include "lockstep/base/terminal.h"
#include "lockstep/predict/roofline.h"
#include "lockstep/store/calibrations.h"
#include "predict_output.h"

namespace lockstep::cli {
namespace {

/// "cpu", a host, or either with the threads of a worker: "cpu:2".
struct CalibratedName {
  std::string host;  ///< empty = any
  int threads = 0;   ///< 0 = the most that were calibrated
};

CalibratedName calibrated_name(const std::string& name) {
  const std::size_t colon = name.find(':');
  CalibratedName result{name.substr(0, colon), 0};
  if (result.host == "cpu") result.host.clear();
  if (colon != std::string::npos) result.threads = std::atoi(name.c_str() + colon + 1);
  return result;
}

/// What `lockstep bench device` measured: of the host and threads asked for, the newest.
std::optional<predict::Device> calibrated_device(const std::string& store_path,
                                                 const std::string& name) {
  const CalibratedName wanted = calibrated_name(name);
  const record::DeviceCalibration* best = nullptr;
  const store::Calibrations known = store::calibrations(store_path);
  for (const record::DeviceCalibration& one : known.devices) {
    if (!(one.flops > 0) || !(one.bytes_per_s > 0)) continue;
    if (!wanted.host.empty() && one.machine.host != wanted.host) continue;
    if (wanted.threads > 0 && one.threads != wanted.threads) continue;
    if (best == nullptr || one.threads > best->threads) best = &one;
  }
  if (best == nullptr) return std::nullopt;
  predict::Device device;
  device.name = fmt::format("{}:{}", wanted.host.empty() ? "cpu" : wanted.host, best->threads);
  device.flops = best->flops;
  device.bytes_per_s = best->bytes_per_s;
  device.calibrated = true;
  return device;
}

predict::Device device_named(const std::string& name, const std::string& store_path) {
  if (auto device = predict::find_device(name)) return *device;
  if (auto device = calibrated_device(store_path, name)) return *device;
  std::string known;
  for (const predict::Device& device : predict::device_table()) {
    known += (known.empty() ? "" : ", ") + device.name;
  }
  throw Error(
      ErrorKind::kUsage,
      fmt::format("no data sheet for device '{}', and no calibration in {}", name, store_path),
      fmt::format("known: {}; lockstep bench device calibrates a processor, which is then "
                  "'cpu', 'cpu:THREADS' or its host's name",
                  known));
}

/// Rows name a processor in many ways; those of a store have "cpu".
bool measured_on(const std::string& series_device, const predict::Device& device) {
  const auto listed = predict::find_device(series_device);
  if (!device.calibrated) return listed && listed->name == device.name;
  return !listed && (series_device.empty() || series_device.starts_with("cpu") ||
                     series_device.starts_with("CPU"));
}

/// Series measured on the device; none when there is no table and no store.
std::vector<predict::TableSeries> series_on(const MeasuredSource& source,
                                            const predict::Device& device) {
  if (source.table.empty() && !std::filesystem::exists(source.store_path)) return {};
  std::vector<predict::TableSeries> all;
  try {
    all = measured_series(source);
  } catch (const Error& error) {
    // A store of calibrations alone has no runs: the ratio of the devices is still known.
    const bool whole_store = source.table.empty() && source.model.empty() && source.study.empty();
    if (!whole_store || error.kind() != ErrorKind::kData) throw;
  }
  std::erase_if(all, [&](const auto& one) { return !measured_on(one.device, device); });
  return all;
}

predict::Estimate times(const predict::Estimate& a, const predict::Estimate& b) {
  const double low = std::hypot(std::log(a.value / a.low), std::log(b.value / b.low));
  const double high = std::hypot(std::log(a.high / a.value), std::log(b.high / b.value));
  const double value = a.value * b.value;
  return {value, value * std::exp(-low), value * std::exp(high)};
}

void print_layers(const predict::StepTimeBound& bound, const std::string& device) {
  report::Table table;
  table.title = fmt::format("roofline of a step on {}", device);
  table.columns = {{"layer", "", "layer", report::Align::kLeft, ""},
                   {"time", "us", "time_us", report::Align::kRight, "lower bound"},
                   {"bound by", "", "bound_by", report::Align::kLeft, ""}};
  for (const predict::LayerTime& layer : bound.layers) {
    table.rows.push_back({layer.name, report::significant(1e6 * layer.seconds),
                          layer.memory_bound ? "memory" : "arithmetic"});
  }
  fmt::print("{}\n", report::render(table, report::Format::kText, {.width = terminal_width()}));
}

}  // namespace

void predict_across_devices(const GlobalOptions& global, const MeasuredSource& source,
                            const DeviceQuestion& question) {
  const predict::Device from = device_named(question.measured, global.store_path);
  const predict::Device to = device_named(question.target, global.store_path);
  const std::vector<predict::TableSeries> series = series_on(source, from);
  std::string network = question.network;
  if (network.empty() && !series.empty()) network = series.front().model;
  if (network.empty()) {
    throw Error(ErrorKind::kUsage, "the network is unknown: nothing was measured",
                "add --network dcgan, resnet18-cifar or fashion");
  }
  const predict::TrainingCost cost = predict::training_cost(network);
  auto size = static_cast<double>(question.batch);
  if (size == 0 && !series.empty()) size = predict::fixed_batch(series.front()).value_or(0);
  if (size == 0) size = 128;
  const predict::Estimate ratio = predict::device_ratio(cost, from, to, size);
  const predict::StepTimeBound bound = predict::bound_step(cost, to, size);

  nlohmann::json json{{"network", cost.model},
                      {"batch", size},
                      {"measured_device", from.name},
                      {"device", to.name},
                      {"time_ratio", estimate_json(ratio)},
                      {"flops_ratio", from.flops / to.flops},
                      {"memory_bound_part", bound.memory_bound_part},
                      {"kind", "predicted"},
                      {"predictions", nlohmann::json::array()}};
  if (!global.json) {
    if (question.layers) print_layers(bound, to.name);
    fmt::print(
        "{} at batch {:g}: {} takes {} times as long as {} (roofline of {} layers; FLOPS alone "
        "would give {:.2f})\n",
        cost.model, size, to.name, with_interval(ratio, 2), from.name,
        cost.parts.front().layers.size() +
            (cost.parts.size() > 1 ? cost.parts[1].layers.size() : 0),
        from.flops / to.flops);
    fmt::print("{:.0f} % of the time on {} is bound by memory bandwidth\n",
               100 * bound.memory_bound_part, to.name);
  }
  for (const predict::TableSeries& one : series) {
    if (one.model != series.front().model) continue;
    predict::JobQuestion asked;
    asked.workers = static_cast<double>(question.workers);
    if (question.epochs > 0) asked.epochs = question.epochs;
    const predict::JobPrediction job = predict::predict_job(one, asked);
    const auto time = job.epoch_s ? job.epoch_s : job.total_s;
    if (!time) continue;
    const predict::Estimate there = times(*time, ratio);
    const char* what = job.epoch_s ? "epoch_time_s" : "total_time_s";
    json["predictions"].push_back(
        {{"series", one.name}, {"workers", question.workers}, {what, estimate_json(there)}});
    if (!global.json) {
      fmt::print("{}: {} {} on {} worker(s) of {}\n", one.name,
                 job.epoch_s ? "an epoch takes" : "the run takes", time_with_interval(there),
                 question.workers, to.name);
    }
  }
  if (global.json) {
    print_line(json);
  } else {
    fmt::print(
        "note: FP32 without tensor cores; small batches are slower on any device than this "
        "bound; a run on {} would settle it\n",
        to.name);
  }
}

}  // namespace lockstep::cli
