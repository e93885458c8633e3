#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lockstep/data/image.h"

namespace lockstep::data {

/// Size with 3 channels. Throws kData for a file that is no JPEG, or whose last scan is cut short.
ImageShape check_jpeg(std::span<const std::uint8_t> file);

/// Interleaved RGB into `pixels`; see decode_image().
ImageShape decode_jpeg(std::span<const std::uint8_t> file, ImageShape at_least,
                       std::vector<std::uint8_t>& pixels);

}  // namespace lockstep::data
