#include "lockstep/data/files/decode_resized.h"

#include <algorithm>
#include <cstring>

#include "lockstep/base/simd.h"
#include "lockstep/data/files/jpeg.h"

namespace lockstep::data {
namespace {

Box cropped(int height, int width, const Crop& crop) {
  const double top = crop.top * height, bottom = height - crop.bottom * height;
  return {top, 0, std::max(bottom, top + 1e-6), static_cast<double>(width)};
}

inline std::uint8_t clamp_level(std::int32_t value) {
  value = value > 0 ? value : 0;
  return static_cast<std::uint8_t>(value < 255 ? value : 255);
}

/// JFIF's colour equations in 65536ths.
LOCKSTEP_SIMD_CLONES void ycc_row_to_rgb(const std::uint8_t* __restrict y,
                                         const std::uint8_t* __restrict cb,
                                         const std::uint8_t* __restrict cr, int width,
                                         std::uint8_t* __restrict out) {
  constexpr std::int32_t kHalf = 32768;
  for (int i = 0; i < width; ++i) {
    const std::int32_t base = y[i] * 65536 + kHalf;
    const std::int32_t blue = cb[i] - 128, red = cr[i] - 128;
    out[3 * i] = clamp_level((base + 91881 * red) >> 16);
    out[3 * i + 1] = clamp_level((base - 22554 * blue - 46802 * red) >> 16);
    out[3 * i + 2] = clamp_level((base + 116130 * blue) >> 16);
  }
}

void resize_planes(const YccPlanes& planes, const Crop& crop, ImageShape shape, std::uint8_t* out,
                   DecodeScratch& s) {
  const Box box = cropped(planes.y.height, planes.y.width, crop);
  const Box colour_box{box.top / planes.sub_y, 0, box.bottom / planes.sub_y,
                       box.right / planes.sub_x};
  const ByteImage y = resize(planes.y, box, shape.height, shape.width, s.planes[0], s.resize);
  const ByteImage cb =
      resize(planes.cb, colour_box, shape.height, shape.width, s.planes[1], s.resize_colour);
  const ByteImage cr =
      resize(planes.cr, colour_box, shape.height, shape.width, s.planes[2], s.resize_colour);
  for (int row = 0; row < shape.height; ++row, out += 3 * shape.width) {
    const std::size_t at = static_cast<std::size_t>(row) * y.stride;
    ycc_row_to_rgb(y.bytes + at, cb.bytes + at, cr.bytes + at, shape.width, out);
  }
}

}  // namespace

void decode_resized(std::span<const std::uint8_t> file, const DecodeLimits& limits,
                    const Crop& crop, ImageShape shape, std::vector<std::uint8_t>& out,
                    DecodeScratch& scratch) {
  out.resize(shape.values() + kPixelSlack);
  // What is cropped away is missing from the part that is resized.
  const double kept = 1 - crop.top - crop.bottom;
  const ImageShape at_least{3, static_cast<int>(shape.height / kept) + 1, shape.width};
  YccPlanes planes;
  if (detect_format(file) == ImageFormat::kJpeg) {
    check_image(file, limits);
    if (decode_jpeg_planes(file, at_least, scratch.decoded, planes)) {
      return resize_planes(planes, crop, shape, out.data(), scratch);
    }
  }
  const ImageShape size = decode_image(file, limits, at_least, scratch.decoded);
  const ByteImage rgb{scratch.decoded.data(), static_cast<std::size_t>(size.width) * 3, size.height,
                      size.width, 3};
  const ByteImage result = resize(rgb, cropped(size.height, size.width, crop), shape.height,
                                  shape.width, scratch.planes[0], scratch.resize);
  const std::size_t row_bytes = static_cast<std::size_t>(shape.width) * 3;
  for (int row = 0; row < shape.height; ++row) {
    const auto r = static_cast<std::size_t>(row);
    std::memcpy(out.data() + r * row_bytes, result.bytes + r * result.stride, row_bytes);
  }
}

}  // namespace lockstep::data
