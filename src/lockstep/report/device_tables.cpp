#include "lockstep/report/device_tables.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lockstep/base/units.h"
#include "lockstep/report/render/estimate_text.h"

namespace lockstep::report {

using predict::DeviceTransfer;

Table layers_table(const DeviceTransfer& transfer) {
  Table table;
  table.title = fmt::format("roofline of a step on {}", transfer.to.name);
  table.columns = {{"layer", "", "layer", Align::kLeft, ""},
                   {"time", "us", "time_us", Align::kRight, "lower bound"},
                   {"bound by", "", "bound_by", Align::kLeft, ""}};
  for (const predict::LayerTime& layer : transfer.bound.layers) {
    table.rows.push_back({layer.name, significant(1e6 * layer.seconds),
                          layer.memory_bound ? "memory" : "arithmetic"});
  }
  return table;
}

std::string transfer_text(const DeviceTransfer& transfer, std::int64_t workers) {
  const std::string& to = transfer.to.name;
  std::string text = fmt::format(
      "{} at batch {:g}: {} takes {} times as long as {} (roofline of {} layers; FLOPS alone "
      "would give {:.2f})\n",
      transfer.network, transfer.batch, to, with_interval(transfer.ratio, 2), transfer.from.name,
      transfer.layers, transfer.flops_ratio());
  text += fmt::format("{:.0f} % of the time on {} is bound by memory bandwidth\n",
                      100 * transfer.bound.memory_bound_part, to);
  for (const predict::TransferredTime& one : transfer.times) {
    text += fmt::format("{}: {} {} on {} of {}\n", one.series,
                        one.of_epoch ? "an epoch takes" : "the run takes",
                        time_with_interval(one.seconds), counted(workers, "worker"), to);
  }
  return text +
         fmt::format(
             "note: FP32 without tensor cores; small batches are slower on any device than this "
             "bound; a run on {} would settle it\n",
             to);
}

nlohmann::json transfer_json(const DeviceTransfer& transfer, std::int64_t workers) {
  nlohmann::json json{{"network", transfer.network},
                      {"batch", transfer.batch},
                      {"measured_device", transfer.from.name},
                      {"device", transfer.to.name},
                      {"time_ratio", estimate_json(transfer.ratio)},
                      {"flops_ratio", transfer.flops_ratio()},
                      {"memory_bound_part", transfer.bound.memory_bound_part},
                      {"kind", "predicted"},
                      {"predictions", nlohmann::json::array()}};
  for (const predict::TransferredTime& one : transfer.times) {
    json["predictions"].push_back(
        {{"series", one.series},
         {"workers", workers},
         {one.of_epoch ? "epoch_time_s" : "total_time_s", estimate_json(one.seconds)}});
  }
  return json;
}

}  // namespace lockstep::report
