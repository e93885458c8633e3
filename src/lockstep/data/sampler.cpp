#include "lockstep/data/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"

namespace lockstep::data {
namespace {

constexpr std::uint64_t kOrderStream =
    0x6f72646572;  // keeps it apart from the augmentation streams

struct IndexRange {
  std::int64_t first;
  std::int64_t count;
};

/// Part `i` of `total` things cut into `parts` runs that differ by one at most, larger ones first.
IndexRange even_part(std::int64_t total, std::int64_t parts, std::int64_t i) {
  const std::int64_t share = total / parts, extra = total % parts;
  return {i * share + std::min(i, extra), share + (i < extra ? 1 : 0)};
}

void check(const SamplerOptions& o) {
  constexpr auto kMost = std::numeric_limits<std::uint32_t>::max();
  if (o.batch < 1 || o.accumulate < 1 || o.world < 1 || o.rank < 0 || o.rank >= o.world) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("a sampler cannot use batches of {} with {} micro-steps on rank {} of {}",
                    o.batch, o.accumulate, o.rank, o.world));
  }
  if (o.examples < 1 || o.examples > kMost) {
    throw Error(ErrorKind::kUsage, fmt::format("a sampler cannot use {} examples", o.examples));
  }
}

}  // namespace

DistributedSampler::DistributedSampler(const SamplerOptions& options) : options_(options) {
  check(options);
  order_.resize(static_cast<std::size_t>(options.examples));
  std::iota(order_.begin(), order_.end(), 0U);
  set_epoch(1);
}

void DistributedSampler::set_epoch(int epoch) {
  if (epoch == epoch_) return;
  epoch_ = epoch;
  if (!options_.shuffle) return;
  order_ = random_permutation(static_cast<std::uint32_t>(options_.examples),
                              Rng(options_.seed, static_cast<std::uint64_t>(epoch), kOrderStream));
}

std::int64_t DistributedSampler::steps() const {
  const std::int64_t global = options_.world * options_.batch * options_.accumulate;
  return (options_.examples + global - 1) / global;
}

MicroBatch DistributedSampler::micro_batch(std::int64_t n) const {
  const std::int64_t global = options_.world * options_.batch * options_.accumulate;
  MicroBatch result;
  result.step = n / options_.accumulate;
  result.micro = static_cast<int>(n % options_.accumulate);
  const std::int64_t first = result.step * global;
  result.global_count = std::min(global, options_.examples - first);
  const IndexRange mine = even_part(result.global_count, options_.world, options_.rank);
  const IndexRange micro = even_part(mine.count, options_.accumulate, result.micro);
  result.step_count = mine.count;
  result.first = mine.first + micro.first;
  result.indices = {order_.data() + first + mine.first + micro.first,
                    static_cast<std::size_t>(micro.count)};
  return result;
}

}  // namespace lockstep::data
