#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lockstep/import/model/epoch_means.h"
#include "lockstep/import/model/imported_run.h"
#include "lockstep/import/scan/json_stream.h"

namespace lockstep::import {

/// What Hugging Face's Trainer reports about a run, entry by entry: {"loss": 0.5, "epoch": 0.3},
/// {"eval_loss": ...}, {"train_runtime": ...}; from trainer_state.json or from its printout.
class TrainerHistory {
 public:
  TrainerHistory() { means_.count_fractions(); }

  /// An entry of log_history.
  void entry(const JsonObject& fields);
  /// "global_step", "max_steps", "num_train_epochs", "train_batch_size", ...
  void setting(const std::string& name, double value);

  std::int64_t entries() const { return entries_; }
  /// For facts found elsewhere.
  ImportedRun& run() { return run_; }
  ImportedRun finish();

 private:
  void figure(const JsonField& field, std::optional<double> epoch);

  ImportedRun run_;
  EpochMeans means_;
  std::int64_t step_ = 0;
  std::int64_t entries_ = 0;
  double steps_ = 0;
  double max_steps_ = 0;
  double epochs_ = 0;
  double steps_per_s_ = 0;
  std::optional<double> mean_loss_;  ///< of the whole run, from the summary
};

}  // namespace lockstep::import
