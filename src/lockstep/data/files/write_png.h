#pragma once

#include <string>

#include "lockstep/data/image.h"

namespace lockstep::data {

/// Writes 8-bit interleaved RGB as a PNG file, which is put in place in one move. Throws kData when
/// it cannot be written.
void write_png(const std::string& path, const ImageView& image);

}  // namespace lockstep::data
