#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lockstep/data/image.h"

namespace lockstep::data {

/// Size with 3 channels. Throws kData if the file is not a PNG or is truncated.
ImageShape check_png(std::span<const std::uint8_t> file);

/// Interleaved RGB into `pixels`; see decode_image(). check_png() first.
ImageShape decode_png(std::span<const std::uint8_t> file, std::vector<std::uint8_t>& pixels);

}  // namespace lockstep::data
