#pragma once

#include <gtest/gtest.h>
#include <png.h>
#include <turbojpeg.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "lockstep/data/image.h"

namespace lockstep::data {

using ByteList = std::vector<std::uint8_t>;

/// A smooth picture with a different course in each channel; interleaved.
inline ByteList smooth_pixels(int height, int width, int channels) {
  ByteList pixels;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int values[] = {40 + 150 * x / width, 200 - 120 * y / height,
                            60 + 90 * (x + y) / (width + height), 120 + 100 * y / height};
      for (int c = 0; c < channels; ++c) pixels.push_back(static_cast<std::uint8_t>(values[c]));
    }
  }
  return pixels;
}

/// A JPEG of interleaved pixels in one of turbojpeg's formats.
inline ByteList make_jpeg(const ByteList& pixels, int height, int width, int format = TJPF_RGB,
                          int sampling = TJSAMP_420, int flags = 0) {
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  tjhandle handle = tjInitCompress();
  EXPECT_EQ(tjCompress2(handle, pixels.data(), width, 0, height, format, &buffer, &size, sampling,
                        95, flags),
            0)
      << tjGetErrorStr2(handle);
  ByteList file(buffer, buffer + size);
  tjFree(buffer);
  tjDestroy(handle);
  return file;
}

inline ByteList smooth_jpeg(int height, int width) {
  return make_jpeg(smooth_pixels(height, width, 3), height, width);
}

struct PngKind {
  int bits = 8;
  int colour = PNG_COLOR_TYPE_RGB;
  bool interlaced = false;
  std::vector<png_color> palette{};
  ByteList palette_alpha{};
};

/// A PNG of rows as they are stored (packed below 8 bits, big-endian at 16).
inline ByteList make_png(const ByteList& rows, int height, int width, const PngKind& kind = {}) {
  ByteList file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &file,
      [](png_structp p, png_bytep data, png_size_t size) {
        auto* out = static_cast<ByteList*>(png_get_io_ptr(p));
        out->insert(out->end(), data, data + size);
      },
      nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height),
               kind.bits, kind.colour, kind.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!kind.palette.empty()) {
    png_set_PLTE(png, info, kind.palette.data(), static_cast<int>(kind.palette.size()));
  }
  if (!kind.palette_alpha.empty()) {
    png_set_tRNS(png, info, kind.palette_alpha.data(), static_cast<int>(kind.palette_alpha.size()),
                 nullptr);
  }
  png_write_info(png, info);
  const std::size_t stride = rows.size() / static_cast<std::size_t>(height);
  std::vector<png_bytep> pointers;
  for (int y = 0; y < height; ++y) {
    pointers.push_back(const_cast<png_bytep>(rows.data()) + static_cast<std::size_t>(y) * stride);
  }
  png_write_image(png, pointers.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

}  // namespace lockstep::data
