#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/data/image.h"

namespace lockstep::data {

enum class ImageFormat { kUnknown, kJpeg, kPng, kGif, kWebp, kBmp, kTiff };

/// By the first bytes; the name of the file does not matter.
ImageFormat detect_format(std::span<const std::uint8_t> file);
std::string_view format_name(ImageFormat format);

/// A small file can state a huge image; one above the limit is refused before memory is allocated.
struct DecodeLimits {
  std::int64_t pixels = 64'000'000;
  std::int64_t file_bytes = 256'000'000;
};

/// Throws kData unless this is an image that can be decoded, within the limits and not truncated.
/// Reads the headers and the end, not the pixels. Gives its size with 3 channels.
ImageShape check_image(std::span<const std::uint8_t> file, const DecodeLimits& limits);

/// Decodes to interleaved 8-bit RGB; `pixels` is resized, with a few bytes of slack after the image
/// so that vector loads may reach past its end. Grey is repeated, palettes are looked up, 16 bits
/// are rounded to 8, CMYK and YCCK are taken as Adobe stores them (inverted), and transparent
/// pixels are composited on white. Of an animated PNG it is the first frame. Orientation tags and
/// colour profiles are ignored.
///
/// A JPEG much larger than `at_least` may come at a half, a quarter or an eighth of its size, but
/// never smaller than that in either direction; zeros ask for the full size. Throws kData for
/// anything damaged or beyond the limits.
ImageShape decode_image(std::span<const std::uint8_t> file, const DecodeLimits& limits,
                        ImageShape at_least, std::vector<std::uint8_t>& pixels);

/// Bytes of slack after decoded pixels.
inline constexpr std::size_t kPixelSlack = 64;

/// The whole file. Throws kData when it cannot be read or is larger than the limit.
void read_file(const std::string& path, const DecodeLimits& limits,
               std::vector<std::uint8_t>& bytes);

}  // namespace lockstep::data
