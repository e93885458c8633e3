#include "lockstep/data/augment/transform.h"

#include <fmt/format.h>

#include <algorithm>

#include "lockstep/base/error.h"

namespace lockstep::data {

void check_normalisation(const Normalisation& normalisation, int channels) {
  const auto count = static_cast<std::size_t>(std::max(channels, 0));
  if (normalisation.mean.size() != count || normalisation.deviation.size() != count) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("normalisation needs a mean and a standard deviation for each of {} channels",
                    count));
  }
  for (const float deviation : normalisation.deviation) {
    if (deviation > 0) continue;
    throw Error(
        ErrorKind::kUsage,
        fmt::format("a standard deviation of {} cannot be used for normalisation", deviation));
  }
}

Rng augmentation_rng(std::uint64_t seed, int epoch, std::int64_t index) {
  return Rng(seed, static_cast<std::uint64_t>(epoch), static_cast<std::uint64_t>(index));
}

}  // namespace lockstep::data
