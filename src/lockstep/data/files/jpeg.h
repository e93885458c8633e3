#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lockstep/data/augment/resize.h"
#include "lockstep/data/image.h"

namespace lockstep::data {

/// Size with 3 channels. Throws kData if the file is not a JPEG or its last scan is truncated.
ImageShape check_jpeg(std::span<const std::uint8_t> file);

/// Interleaved RGB into `pixels`; see decode_image().
ImageShape decode_jpeg(std::span<const std::uint8_t> file, ImageShape at_least,
                       std::vector<std::uint8_t>& pixels);

/// Luminance and colour as they are stored, the colour often at half the size.
struct YccPlanes {
  ByteImage y;
  ByteImage cb;
  ByteImage cr;
  int sub_x = 1;  ///< luminance pixels a colour pixel, sideways
  int sub_y = 1;  ///< and downwards
};

/// The planes of a JPEG in the usual colour space, without the cost of making RGB of every pixel;
/// the bytes are in `pixels`. False, and nothing done, for other colour spaces.
bool decode_jpeg_planes(std::span<const std::uint8_t> file, ImageShape at_least,
                        std::vector<std::uint8_t>& pixels, YccPlanes& planes);

}  // namespace lockstep::data
