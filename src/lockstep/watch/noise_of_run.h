#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "lockstep/record/event.h"
#include "lockstep/watch/rank_record.h"

namespace lockstep::watch {

/// The gradient noise scale of a run, from the norms of the steps that its ranks sampled.
/// Points into the records that it was made from.
class NoiseOfRun {
 public:
  explicit NoiseOfRun(const std::vector<RankRecord>& ranks);

  /// As of ranks that train on the same examples: no sampled gradient changes when it is averaged.
  bool all_alike() const;

  /// Sets the estimate at the end of `epoch`, whose last step is `last_step`: as `lockstep train`
  /// smooths it, over the last steps. Where few steps are sampled it reaches further back.
  void estimate_at(std::int64_t last_step, record::EpochResult& epoch) const;

 private:
  using Samples = std::map<std::int64_t, std::vector<const GradientNorms*>>;

  Samples::const_iterator later_ones(std::int64_t last_step, Samples::const_iterator end) const;

  std::size_t ranks_;
  Samples samples_;  ///< by step
};

}  // namespace lockstep::watch
