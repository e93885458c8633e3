#include "lockstep/data/files/write_png.h"

#include <fmt/format.h>
#include <png.h>

#include <cstdio>

#include "lockstep/base/error.h"

namespace lockstep::data {

void write_png(const std::string& path, const ImageView& image) {
  if (image.shape.channels != 3 || image.order != PixelOrder::kInterleaved) {
    throw Error(ErrorKind::kInternal, "only interleaved RGB can be written as PNG");
  }
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.shape.width);
  png.height = static_cast<png_uint_32>(image.shape.height);
  png.format = PNG_FORMAT_RGB;
  const std::string temporary = path + ".tmp";
  const bool written =
      png_image_write_to_file(&png, temporary.c_str(), 0, image.pixels, 0, nullptr) != 0;
  if (written && std::rename(temporary.c_str(), path.c_str()) == 0) return;
  std::remove(temporary.c_str());
  throw Error(ErrorKind::kData, fmt::format("{}: cannot be written: {}", path, png.message),
              "check the folder's permissions and the free disk space");
}

}  // namespace lockstep::data
