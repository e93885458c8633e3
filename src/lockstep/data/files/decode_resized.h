#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lockstep/data/augment/resize.h"
#include "lockstep/data/files/decode.h"

namespace lockstep::data {

/// Parts of the height cut away before resizing.
struct Crop {
  double top = 0;
  double bottom = 0;
};

/// Working memory of one thread.
struct DecodeScratch {
  std::vector<std::uint8_t> decoded;  ///< at its own size
  std::vector<std::uint8_t> planes[3];
  ResizeScratch resize;
  ResizeScratch resize_colour;  ///< of planes at another size than the luminance
};

/// Decodes an image file, crops it and resizes it to interleaved RGB of `shape`. As decode_image()
/// followed by resize(), but the usual JPEG is resized before its colours are converted, which
/// saves work on every pixel that is thrown away. Against PIL that differs by 0.2 grey levels on
/// average over photographs, and by up to 25 in single pixels at sharp, saturated edges. Throws
/// kData as decode_image().
void decode_resized(std::span<const std::uint8_t> file, const DecodeLimits& limits,
                    const Crop& crop, ImageShape shape, std::vector<std::uint8_t>& out,
                    DecodeScratch& scratch);

}  // namespace lockstep::data
