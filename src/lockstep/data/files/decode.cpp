#include "lockstep/data/files/decode.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lockstep/base/error.h"
#include "lockstep/data/files/jpeg.h"
#include "lockstep/data/files/png.h"

namespace lockstep::data {
namespace {

bool starts_with(std::span<const std::uint8_t> file, std::string_view magic, std::size_t at = 0) {
  return file.size() >= at + magic.size() &&
         std::memcmp(file.data() + at, magic.data(), magic.size()) == 0;
}

}  // namespace

ImageFormat detect_format(std::span<const std::uint8_t> file) {
  if (starts_with(file, "\xff\xd8\xff")) return ImageFormat::kJpeg;
  if (starts_with(file, "\x89PNG\r\n\x1a\n")) return ImageFormat::kPng;
  if (starts_with(file, "GIF8")) return ImageFormat::kGif;
  if (starts_with(file, "RIFF") && starts_with(file, "WEBP", 8)) return ImageFormat::kWebp;
  if (starts_with(file, "BM")) return ImageFormat::kBmp;
  using namespace std::string_view_literals;
  if (starts_with(file, "II*\0"sv) || starts_with(file, "MM\0*"sv)) return ImageFormat::kTiff;
  return ImageFormat::kUnknown;
}

std::string_view format_name(ImageFormat format) {
  switch (format) {
    case ImageFormat::kJpeg:
      return "JPEG";
    case ImageFormat::kPng:
      return "PNG";
    case ImageFormat::kGif:
      return "GIF";
    case ImageFormat::kWebp:
      return "WebP";
    case ImageFormat::kBmp:
      return "BMP";
    case ImageFormat::kTiff:
      return "TIFF";
    case ImageFormat::kUnknown:
      break;
  }
  return "unknown";
}

ImageShape check_image(std::span<const std::uint8_t> file, const DecodeLimits& limits) {
  if (file.empty()) throw Error(ErrorKind::kData, "the file is empty");
  const ImageFormat format = detect_format(file);
  if (format != ImageFormat::kJpeg && format != ImageFormat::kPng) {
    throw Error(
        ErrorKind::kData,
        format == ImageFormat::kUnknown
            ? std::string("not an image")
            : fmt::format("{} images are not supported, only JPEG and PNG", format_name(format)));
  }
  const ImageShape shape = format == ImageFormat::kJpeg ? check_jpeg(file) : check_png(file);
  if (std::int64_t{shape.height} * shape.width > limits.pixels) {
    throw Error(ErrorKind::kData, fmt::format("an image of {} x {} pixels exceeds the limit of {}",
                                              shape.width, shape.height, limits.pixels));
  }
  return shape;
}

ImageShape decode_image(std::span<const std::uint8_t> file, const DecodeLimits& limits,
                        ImageShape at_least, std::vector<std::uint8_t>& pixels) {
  check_image(file, limits);
  return detect_format(file) == ImageFormat::kJpeg ? decode_jpeg(file, at_least, pixels)
                                                   : decode_png(file, pixels);
}

void read_file(const std::string& path, const DecodeLimits& limits,
               std::vector<std::uint8_t>& bytes) {
  const auto fail = [&](const std::string& what) { throw Error(ErrorKind::kData, what); };
  struct Descriptor {
    int fd;
    ~Descriptor() {
      if (fd >= 0) ::close(fd);
    }
  } file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status {};
  if (file.fd < 0 || ::fstat(file.fd, &status) != 0) fail(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) fail("not a regular file");
  if (status.st_size > limits.file_bytes) {
    fail(fmt::format("a file of {} bytes exceeds the limit of {}", status.st_size,
                     limits.file_bytes));
  }
  bytes.resize(static_cast<std::size_t>(status.st_size));
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t part = ::read(file.fd, bytes.data() + got, bytes.size() - got);
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) fail(std::strerror(errno));
    if (part == 0) break;
    got += static_cast<std::size_t>(part);
  }
  bytes.resize(got);
}

}  // namespace lockstep::data
