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

/// Latency and bandwidth of a link. A ring all-reduce of S bytes over N workers has 2 (N - 1)
/// rounds, in each of which S/N travel. In the textbook a round takes alpha + S/N / beta. On a link
/// that was calibrated near S it takes the longer of the two: engines send a message in pieces, so
/// that the latency of one hides behind the transfer of another.
struct Link {
  double alpha_s = 0;
  double bytes_per_s = 0;
  double spread = 0;            ///< relative misfit of the calibration
  double peak_bytes_per_s = 0;  ///< at the best calibrated size; 0 = textbook

  double all_reduce_s(double bytes, double workers) const;
  /// With no latency hidden: the most that it may take.
  double unhidden_s(double bytes, double workers) const;
  /// The same link where an all-reduce of so many bytes over so many workers took `seconds`.
  Link measured_at(double bytes, double workers, double seconds) const;
};

/// What ranks that share a link do to an all-reduce, against the calibration. Ranks that share
/// cores do not delay messages: they sleep while these travel.
struct SharedLink {
  /// Concurrent flows over the link of one host, over those of the calibration.
  double flows_factor = 1;

  Link applied_to(const Link& link) const;
};

/// The textbook's two numbers by least squares of relative errors; alpha and 1/beta not negative.
/// One latency and one bandwidth fit no real link at all sizes: with `message_bytes`, sizes near it
/// count most, and the spread is that of those sizes. Throws kData when the sizes do not span
/// enough to separate latency from bandwidth (two different sizes at least).
Link fit_link(const std::vector<CollectiveTime>& calibration, double message_bytes = 0);

/// The link as rings of more or fewer workers see it that sum so many bytes: the time of that sum,
/// as fit_link() has it, counts as transfer, and no latency is longer than a round of the quickest
/// sum. Throws kData as fit_link().
Link fit_link_near(const std::vector<CollectiveTime>& calibration, double message_bytes);

/// Phases of a step without its exposed communication: means over ranks and steps, and how the step
/// varies.
struct StepPhases {
  double input_s = 0;  ///< waiting for the loader
  double forward_s = 0;
  double backward_s = 0;
  double other_s = 0;  ///< host to device, optimizer, the rest
  /// Relative standard error of the mean step, from the means of stretches of steps: what slows a
  /// stretch down as a whole (other programs, clocks) counts, too.
  double mean_error = 0;
  double transfer_s = 0;         ///< exposed, with all ranks there; 0 with one worker
  std::vector<double> totals_s;  ///< steps without exposed communication, ascending

  double compute_s() const { return forward_s + backward_s + other_s; }
  /// By how much the slowest of `workers` such steps is expected to exceed the mean step.
  double slowest_excess_s(double workers) const;
};

/// Means over all but the first `warm_up` of the steps, which may be of several ranks. Throws kData
/// without steps.
StepPhases mean_phases(const std::vector<record::StepTimes>& steps, std::size_t warm_up);

/// What a step on N workers consists of, from the phases of fewer and the link.
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
