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

ByteScaling::ByteScaling(const Normalisation& normalisation) {
  for (std::size_t c = 0; c < normalisation.mean.size(); ++c) {
    scale.push_back(1.0F / (255.0F * normalisation.deviation[c]));
    shift.push_back(-normalisation.mean[c] / normalisation.deviation[c]);
  }
}

void Transform::apply_to_bytes(const ImageView&, Rng, std::uint8_t*, TransformScratch&) const {
  throw Error(ErrorKind::kInternal, "this transform cannot leave the normalisation to others");
}

Rng augmentation_rng(std::uint64_t seed, int epoch, std::int64_t index) {
  return Rng(seed, static_cast<std::uint64_t>(epoch), static_cast<std::uint64_t>(index));
}

}  // namespace lockstep::data
