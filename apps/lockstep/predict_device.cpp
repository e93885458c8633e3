#include "predict_device.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lockstep/base/error.h"
#include "lockstep/predict/roofline.h"
#include "predict_output.h"
#include "terminal.h"

namespace lockstep::cli {
namespace {

predict::Device device_named(const std::string& name) {
  if (auto device = predict::find_device(name)) return *device;
  std::string known;
  for (const predict::Device& device : predict::device_table()) {
    known += (known.empty() ? "" : ", ") + device.name;
  }
  throw Error(ErrorKind::kUsage, fmt::format("no data sheet for device '{}'", name),
              "known: " + known);
}

bool same_device(const std::string& a, const std::string& b) {
  const auto first = predict::find_device(a);
  const auto second = predict::find_device(b);
  return first && second && first->name == second->name;
}

/// Series measured on the device; none when there is no table and no store.
std::vector<predict::TableSeries> series_on(const MeasuredSource& source,
                                            const DeviceQuestion& question) {
  if (source.table.empty() && !std::filesystem::exists(source.store_path)) return {};
  std::vector<predict::TableSeries> all = measured_series(source);
  std::erase_if(all, [&](const auto& one) { return !same_device(one.device, question.measured); });
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
  const predict::Device from = device_named(question.measured);
  const predict::Device to = device_named(question.target);
  const std::vector<predict::TableSeries> series = series_on(source, question);
  std::string network = question.network;
  if (network.empty() && !series.empty()) network = series.front().model;
  if (network.empty()) {
    throw Error(ErrorKind::kUsage, "which network? Nothing was measured that would say",
                "add --network dcgan, resnet18-cifar or fashion");
  }
  const predict::TrainingCost cost = predict::training_cost(network);
  std::int64_t batch = question.batch;
  if (batch == 0 && !series.empty()) {
    batch = series.front().batch_per_worker.value_or(series.front().global_batch.value_or(0));
  }
  if (batch == 0) batch = 128;
  const auto size = static_cast<double>(batch);
  const predict::Estimate ratio = predict::device_ratio(cost, from, to, size);
  const predict::StepTimeBound bound = predict::bound_step(cost, to, size);

  nlohmann::json json{{"network", cost.model},
                      {"batch", batch},
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
        "{} at batch {}: {} takes {} times as long as {} (roofline of {} layers; FLOPS alone "
        "would say {:.2f})\n",
        cost.model, batch, to.name, with_interval(ratio, 2), from.name,
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
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print(
        "note: FP32 without tensor cores; small batches are slower on any device than this "
        "says; a run on {} would settle it\n",
        to.name);
  }
}

}  // namespace lockstep::cli
