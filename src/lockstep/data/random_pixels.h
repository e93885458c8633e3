#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/base/rng.h"
#include "lockstep/data/image.h"

namespace lockstep::data {

/// An image of noise, for tests.
inline std::vector<std::uint8_t> random_pixels(const ImageShape& shape, Rng& rng) {
  std::vector<std::uint8_t> pixels(shape.values());
  for (auto& pixel : pixels) pixel = static_cast<std::uint8_t>(rng.below(256));
  return pixels;
}

}  // namespace lockstep::data
