#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "lockstep/import/epoch_table.h"
#include "lockstep/import/imported_run.h"

namespace lockstep::import {

/// Turns figures that come step by step, each with an epoch or without, into the figures of epochs:
/// a training loss or accuracy is the mean of what was logged in the epoch, anything else the last.
/// For tables and histories, where a "test" figure is a final test and no validation.
class EpochMeans {
 public:
  /// One figure; `epoch` as the log numbers it.
  void add(std::string_view name, double value, std::optional<double> epoch, std::int64_t step,
           ImportedRun& run);

  /// Hands the epochs to `run`. A last epoch that only validated, after others that trained, is a
  /// validation on its own: its figures become those at the end of the run.
  void finish(ImportedRun& run);

  /// Epochs are fractions that grow with the step, as Hugging Face counts them: 1.8 lies in the
  /// second.
  void count_fractions() { fractions_ = true; }

 private:
  void close_epoch();

  EpochTable table_;
  Series loss_;
  Series accuracy_;
  std::int64_t epoch_ = -1;
  bool fractions_ = false;
};

}  // namespace lockstep::import
