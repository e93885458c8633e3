#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/predict/job_prediction.h"
#include "lockstep/record/step_times.h"

namespace lockstep::predict {

/// One all-reduce of a collectives calibration.
struct CollectiveTime {
  double bytes = 0;
  double seconds = 0;
  int workers = 2;
};

/// Latency and bandwidth of a link: a ring all-reduce of S bytes over N workers takes
/// 2 (N - 1) alpha + 2 (N - 1)/N S / beta.
struct Link {
  double alpha_s = 0;
  double bytes_per_s = 0;
  double spread = 0;  ///< relative misfit of the calibration

  double all_reduce_s(double bytes, double workers) const;
};

/// What ranks that share a link do to an all-reduce, against the calibration. Ranks that share
/// cores do not delay messages: they sleep while these travel.
struct SharedLink {
  /// Concurrent flows over the link of one host, over those of the calibration.
  double flows_factor = 1;

  Link applied_to(const Link& link) const;
};

/// Least squares of relative errors; alpha and 1/beta not negative. One latency and one bandwidth
/// fit no real link at all sizes: with `message_bytes`, sizes near it count most, and the spread is
/// that of those sizes. Throws kData when the sizes do not span enough to separate latency from
/// bandwidth (two different sizes at least).
Link fit_link(const std::vector<CollectiveTime>& calibration, double message_bytes = 0);

/// Phases of a step on one worker: means, and how the whole step varies.
struct StepPhases {
  double input_s = 0;  ///< waiting for the loader
  double forward_s = 0;
  double backward_s = 0;
  double other_s = 0;  ///< host to device, optimizer, the rest
  /// Relative standard error of the mean step, from the means of stretches of steps: what slows a
  /// stretch down as a whole (other programs, clocks) counts, too.
  double mean_error = 0;
  std::vector<double> totals_s;  ///< whole steps, ascending

  double compute_s() const { return forward_s + backward_s + other_s; }
  /// By how much the slowest of `workers` such steps is expected to exceed the mean step.
  double slowest_excess_s(double workers) const;
};

/// Means over the steps of one worker after its first `warm_up` steps. Throws kData without steps.
StepPhases mean_phases(const std::vector<record::StepTimes>& steps, std::size_t warm_up);

/// What a step on N workers consists of, from one worker's phases and the link.
struct PhasePrediction {
  Estimate step_s;
  double compute_s = 0;
  double communication_s = 0;  ///< on the link, hidden or not
  double exposed_s = 0;        ///< of it, not hidden behind backward
  double straggler_s = 0;      ///< waiting for the slowest of N
  bool input_bound = false;
  double run_part = 0;         ///< relative half-widths: from run to run,
  double contention_part = 0;  ///< what workers do to each other,
  double link_part = 0;        ///< communication and stragglers
};

struct PhaseQuestion {
  int workers = 2;
  double gradient_bytes = 0;
  double buckets = 4;   ///< the last bucket can hide behind nothing
  bool overlap = true;  ///< communication runs while backward does
  SharedLink shared_link{};
  /// Factor on compute with all workers at once.
  Estimate contention{1, 1, 1};
  /// Relative standard deviation between runs of one configuration; 0 = not known, the usual one.
  double run_spread = 0;
};

/// The interval covers the spread between runs, what contention leaves open, the misfit of the
/// link, stragglers, and what phases leave out.
PhasePrediction predict_phases(const StepPhases& one, const Link& link,
                               const PhaseQuestion& question);

}  // namespace lockstep::predict
