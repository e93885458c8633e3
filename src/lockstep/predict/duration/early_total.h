#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lockstep/predict/estimate.h"

namespace lockstep::predict {

/// Predicts how long all steps of a run will take from the first of them, as they come. The first
/// steps of a run are slower (allocation, tuning, cold caches); they are told apart from the steady
/// state and count once, not for every step to come. Memory is bounded for any length of the
/// run. Not thread-safe.
class EarlyTotal {
 public:
  /// `total_steps` of the whole run, at least 1.
  explicit EarlyTotal(std::int64_t total_steps);

  /// One finished step. Values that are not finite and positive are ignored.
  void add(double step_seconds) { add(step_seconds, 1); }
  /// `steps` finished steps that took `seconds` together, where they are not known one by one.
  void add(double seconds, std::int64_t steps);

  std::int64_t steps() const { return steps_; }
  double elapsed_s() const { return elapsed_s_; }

  /// Steps at the start that were slower than the steady state.
  std::int64_t warm_up_steps() const;
  /// Mean step after the warm-up; nothing before the twelfth step or the fourth call of add().
  std::optional<double> steady_step_s() const;
  /// Time of all steps, those to come included, with a 90 % interval; nothing as long as
  /// steady_step_s() has no value.
  std::optional<Estimate> total() const;

 private:
  struct Block {
    double seconds = 0;
    std::int64_t steps = 0;
    double mean() const { return seconds / static_cast<double>(steps); }
  };

  bool enough() const;
  std::size_t first_steady_block() const;

  std::int64_t total_steps_;
  std::int64_t steps_ = 0;
  double elapsed_s_ = 0;
  std::int64_t block_steps_ = 1;  ///< doubles as blocks are merged
  std::vector<Block> blocks_;
};

/// Whether the first epoch includes work that later ones do not: devices of their own are set up,
/// tuned and filled in it, processors of the host are not.
enum class FirstEpoch { kOnHost, kOnDevice, kUnknown };

/// The total of `epochs` from the first epoch alone, when no steps are known: how much of that
/// epoch was warm-up cannot be determined from one number, so the interval covers from a quarter of
/// it (seen on GPUs) to none of it.
Estimate total_from_first_epoch(const Estimate& first_epoch_s, std::int64_t epochs,
                                FirstEpoch where);

}  // namespace lockstep::predict
