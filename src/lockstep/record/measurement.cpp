#include "lockstep/record/measurement.h"

#include <algorithm>
#include <array>

namespace lockstep::record {

const std::vector<std::string>& measurement_columns() {
  static const std::vector<std::string> kColumns{
      "model",        "dataset",  "device", "nodes",  "workers", "batch_per_worker",
      "global_batch", "examples", "epochs", "metric", "value",   "unit"};
  return kColumns;
}

bool is_known_metric(std::string_view name) {
  constexpr std::array<std::string_view, 12> kMetrics{
      "step_time",    "epoch_time",       "total_time",    "throughput",
      "sync_time",    "train_loss",       "val_loss",      "train_accuracy",
      "val_accuracy", "epochs_to_stable", "out_of_memory", "noise_scale"};
  return std::find(kMetrics.begin(), kMetrics.end(), name) != kMetrics.end() ||
         name.starts_with("reported_");
}

}  // namespace lockstep::record
