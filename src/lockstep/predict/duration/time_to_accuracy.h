#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lockstep/predict/job_prediction.h"

namespace lockstep::predict {

/// Steps to a target as a function of the global batch: S_min (1 + B_noise / B). Below the noise
/// scale, doubling the batch halves the steps; above it, it buys nothing (McCandlish 2018).
struct StepsModel {
  double least_steps = 0;
  double noise_batch = 0;
  double spread = 0.1;  ///< relative misfit, as a standard deviation
  /// What the fit leaves open: variances of S_min and of S_min B_noise, and their covariance. Makes
  /// the interval wider the further a batch is from those measured.
  double least_variance = 0;
  double noise_variance = 0;
  double covariance = 0;
  /// Of an epoch; 0 where nothing was fitted. The predicted run, too, counts in whole epochs.
  double examples = 0;
  /// Of the measured global batches. Below it the schedule matters as much as the noise scale.
  double smallest_batch = 0;

  Estimate steps(double global_batch) const;
  /// The noise batch is known to this factor, 9 times out of 10; 1 where nothing was fitted.
  double noise_factor() const;
};

/// Epochs that one global batch needed to reach the target.
struct EpochsToTarget {
  double global_batch = 0;
  double epochs = 0;
};

/// From measured epochs-to-target at two or more global batches. Throws kData for fewer.
StepsModel fit_steps(const std::vector<EpochsToTarget>& measured, double examples);

/// Whether the measured epochs say how steps depend on the batch: epochs at the largest batch
/// exceed those at the smallest by more than seeds and whole epochs leave open. Where they do not,
/// every noise scale above the batches fits, and none is known.
bool epochs_grow_with_batch(const std::vector<EpochsToTarget>& measured);

/// From the gradient noise scale and epochs-to-target at one batch.
StepsModel steps_from_noise_scale(double noise_batch, const EpochsToTarget& measured,
                                  double examples);

/// When only one global batch was measured: as many epochs at any batch, which is right below the
/// noise scale and too hopeful above it, so the spread is wide.
StepsModel steps_at_constant_epochs(const EpochsToTarget& measured, double examples);

/// One point of the curve over worker counts.
struct TimeToTarget {
  double workers = 0;
  Estimate steps;
  Estimate hours;
  Estimate device_hours;
};

/// Steps at B = workers x batch_per_worker times the step time behind `job` (throughput must be
/// known). Nothing when it is not.
std::optional<TimeToTarget> time_to_target(const JobPrediction& job, const StepsModel& model,
                                           double global_batch);

}  // namespace lockstep::predict
