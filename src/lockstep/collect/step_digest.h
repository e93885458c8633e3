#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/record/step_times.h"

namespace lockstep::collect {

/// Steps that follow each other, summed up. A step lasts as long as its slowest rank, so the
/// shortest and the longest are those of real steps: thinning loses no outlier.
struct StepBin {
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  double start_s = 0;  ///< of the first step, since the start of the run's first step
  double shortest_s = 0;
  double mean_s = 0;
  double longest_s = 0;
  /// By rank: share of the bin's step time in which the rank computed (host to device, forward,
  /// backward, optimizer) rather than waited or sent.
  std::vector<double> busy{};
};

/// All steps of a run in a bounded number of bins, and two of them whole.
struct StepDigest {
  std::int64_t steps = 0;  ///< of the run
  std::int64_t steps_per_bin = 0;
  std::vector<StepBin> bins;
  std::vector<record::StepTimes> typical;  ///< all ranks of a step of median length, after warm-up
  std::vector<record::StepTimes> slowest;  ///< all ranks of the longest step after warm-up
};

/// Takes the steps of a run in order of step, then rank.
class StepDigestBuilder {
 public:
  /// `rows` of all ranks to expect; bins are sized so that there are at most `most_bins`.
  StepDigestBuilder(std::int64_t rows, int ranks, std::int64_t most_bins = 500);

  void add(const record::StepTimes& step);
  StepDigest finish();

 private:
  void close_step();
  void close_bin();
  void keep_sample();

  StepDigest digest_;
  std::vector<record::StepTimes> step_;  ///< ranks of the step under way
  std::vector<std::vector<record::StepTimes>> samples_;
  std::vector<double> sample_s_;
  std::int64_t samples_every_ = 1;
  std::int64_t first_start_ns_ = 0;
  StepBin bin_;
  std::int64_t in_bin_ = 0;
  double bin_s_ = 0;
  std::vector<double> busy_s_;
  std::vector<double> rank_s_;
  double slowest_s_ = 0;
};

}  // namespace lockstep::collect
