#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lockstep/base/text/quantities.h"
#include "lockstep/predict/duration/time_to_accuracy.h"
#include "lockstep/record/measurement.h"

namespace lockstep::predict {

/// How many epochs runs needed to a target, and what follows for other batches.
struct TargetEpochs {
  std::vector<EpochsToTarget> measured;
  double examples = 0;
  /// Gradient noise scale in examples (metric noise_scale): the batch from which on larger ones
  /// save few steps. 0 = not measured.
  double noise_scale = 0;
  /// The smallest global batch, above all that did, whose runs ended without reaching the target.
  std::optional<double> failing_batch;
  std::vector<std::string> notes;
};

/// From rows that carry an epoch (column epoch): the first epoch of each run and batch that reached
/// the target. From a table without epochs: its epochs_to_stable. Throws kData when no run reached
/// it.
TargetEpochs epochs_to_target(const std::vector<record::Measurement>& rows, const Target& target);

/// The steps that the measured epochs imply at any global batch.
StepsModel steps_model(TargetEpochs& epochs);

}  // namespace lockstep::predict
