#include "lockstep/data/augment/transform.h"

namespace lockstep::data {

Rng augmentation_rng(std::uint64_t seed, int epoch, std::int64_t index) {
  return Rng(seed, static_cast<std::uint64_t>(epoch), static_cast<std::uint64_t>(index));
}

}  // namespace lockstep::data
