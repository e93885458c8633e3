#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::data {

struct SamplerOptions {
  std::int64_t examples = 0;
  std::int64_t batch = 1;  ///< b, examples per worker and micro-step
  int accumulate = 1;      ///< A, micro-steps per step
  int rank = 0;
  int world = 1;
  std::uint64_t seed = 1;
  bool shuffle = true;  ///< false: in stored order, the same every epoch (validation)
};

/// What one rank processes in one micro-step. A step's gradient is the mean over `global_count`
/// examples: a rank adds the sum over its own `indices`, divided by `global_count`.
struct MicroBatch {
  std::int64_t step = 0;                   ///< of the epoch, from 0
  int micro = 0;                           ///< within the step, 0 .. A-1
  std::span<const std::uint32_t> indices;  ///< empty on some ranks when the last step is that small
  std::int64_t step_count = 0;             ///< examples of this rank in the whole step
  std::int64_t global_count = 0;           ///< examples of all ranks in the whole step
  std::int64_t first = 0;                  ///< place of the first of them among those
};

/// Deals the examples of an epoch to ranks. The order is a permutation fixed by (seed, epoch); step
/// g takes its g-th run of B = N b A examples, each rank a contiguous part of that in order of
/// rank, each micro-step a contiguous part of the rank's. So every example is used exactly once an
/// epoch, and N workers with batch b draw the same global batches as one worker with batch N b.
///
/// Remainder: all ranks take the same number of steps. Where B does not divide the examples, the
/// last step is smaller and is shared as evenly as can be, first ranks first: ranks differ by one
/// example at most, and some may get none. The parts of its micro-steps likewise.
class DistributedSampler {
 public:
  /// Throws kUsage for sizes that make no sense. Starts at epoch 1.
  explicit DistributedSampler(const SamplerOptions& options);

  /// Epochs count from 1. Invalidates the spans of earlier micro-batches when the order is
  /// shuffled.
  void set_epoch(int epoch);
  int epoch() const { return epoch_; }

  std::int64_t steps() const;
  std::int64_t micro_batches() const { return steps() * options_.accumulate; }
  /// The n-th micro-batch of the epoch; step k begins at n = k A. Any order; n < micro_batches().
  MicroBatch micro_batch(std::int64_t n) const;

  const SamplerOptions& options() const { return options_; }

 private:
  SamplerOptions options_;
  int epoch_ = 0;
  std::vector<std::uint32_t> order_;
};

}  // namespace lockstep::data
