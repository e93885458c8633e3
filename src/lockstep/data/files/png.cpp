#include "lockstep/data/files/png.h"

#include <fmt/format.h>
#include <png.h>

#include <csetjmp>
#include <cstring>
#include <string>

#include "lockstep/base/error.h"
#include "lockstep/data/files/decode.h"

namespace lockstep::data {
namespace {

constexpr std::size_t kSignature = 8, kChunkFrame = 12;  // length, type, checksum
constexpr std::uint32_t kLargestPngSide = 1'000'000;

[[noreturn]] void fail_png(const std::string& what) {
  throw Error(ErrorKind::kData, "damaged PNG: " + what);
}

std::uint32_t word_at(std::span<const std::uint8_t> file, std::size_t at) {
  return std::uint32_t{file[at]} << 24 | std::uint32_t{file[at + 1]} << 16 |
         std::uint32_t{file[at + 2]} << 8 | file[at + 3];
}

/// Walks the chunks, which state their lengths, to the closing one.
void expect_all_chunks(std::span<const std::uint8_t> file) {
  std::size_t at = kSignature;
  while (file.size() - at >= kChunkFrame) {
    const std::uint32_t length = word_at(file, at);
    if (length > file.size() - at - kChunkFrame) break;
    if (std::memcmp(file.data() + at + 4, "IEND", 4) == 0) return;
    at += kChunkFrame + length;
  }
  fail_png(fmt::format("it is truncated at byte {}, inside the chunk at byte {}", file.size(), at));
}

/// Where libpng reads from and what it complained about.
struct Source {
  std::span<const std::uint8_t> file;
  std::size_t at = 0;
  char message[128] = "";
};

void read_bytes(png_structp png, png_bytep out, png_size_t count) {
  auto* source = static_cast<Source*>(png_get_io_ptr(png));
  if (count > source->file.size() - source->at) png_error(png, "the data ends too soon");
  std::memcpy(out, source->file.data() + source->at, count);
  source->at += count;
}

void on_error(png_structp png, png_const_charp message) {
  auto* source = static_cast<Source*>(png_get_error_ptr(png));
  std::strncpy(source->message, message, sizeof source->message - 1);
  longjmp(png_jmpbuf(png), 1);
}

void on_warning(png_structp, png_const_charp) {}

struct Reader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
};

/// Every kind of PNG becomes 8-bit RGB or RGBA. False when libpng jumped out. Nothing in the next
/// two functions owns memory: a jump skips destructors.
bool read_png_header(Reader& reader, Source& source) {
  if (setjmp(png_jmpbuf(reader.png))) return false;
  png_set_user_limits(reader.png, kLargestPngSide, kLargestPngSide);
  png_set_read_fn(reader.png, &source, read_bytes);
  png_read_info(reader.png, reader.info);
  png_set_expand(reader.png);
  png_set_scale_16(reader.png);
  png_set_gray_to_rgb(reader.png);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

bool read_png_rows(Reader& reader, png_bytepp rows) {
  if (setjmp(png_jmpbuf(reader.png))) return false;
  png_read_image(reader.png, rows);
  png_read_end(reader.png, nullptr);
  return true;
}

/// Drops the fourth channel in place: white shows through where it is transparent.
void composite_on_white(std::uint8_t* pixels, std::size_t count) {
  const std::uint8_t* in = pixels;
  for (std::size_t i = 0; i < count; ++i, in += 4) {
    const unsigned alpha = in[3];
    for (int c = 0; c < 3; ++c) {
      *pixels++ = static_cast<std::uint8_t>((in[c] * alpha + 255 * (255 - alpha) + 127) / 255);
    }
  }
}

}  // namespace

ImageShape check_png(std::span<const std::uint8_t> file) {
  constexpr std::size_t kHeader = kSignature + kChunkFrame + 13;
  if (file.size() < kHeader || std::memcmp(file.data() + kSignature + 4, "IHDR", 4) != 0) {
    fail_png("it has no header");
  }
  const std::uint32_t width = word_at(file, 16), height = word_at(file, 20);
  if (width == 0 || height == 0 || width > kLargestPngSide || height > kLargestPngSide) {
    fail_png(fmt::format("its header states {} x {} pixels", width, height));
  }
  expect_all_chunks(file);
  return {3, static_cast<int>(height), static_cast<int>(width)};
}

ImageShape decode_png(std::span<const std::uint8_t> file, std::vector<std::uint8_t>& pixels) {
  Source source{file};
  Reader reader;
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &source, on_error, on_warning);
  if (reader.png) reader.info = png_create_info_struct(reader.png);
  if (!reader.info)
    throw Error(ErrorKind::kEnvironment, "libpng cannot be initialised: out of memory");
  if (!read_png_header(reader, source)) fail_png(source.message);

  const ImageShape shape{3, static_cast<int>(png_get_image_height(reader.png, reader.info)),
                         static_cast<int>(png_get_image_width(reader.png, reader.info))};
  const std::size_t row_bytes = png_get_rowbytes(reader.png, reader.info);
  const auto height = static_cast<std::size_t>(shape.height);
  pixels.resize(height * row_bytes + kPixelSlack);
  std::vector<png_bytep> rows(height);
  for (std::size_t y = 0; y < height; ++y) rows[y] = pixels.data() + y * row_bytes;
  if (!read_png_rows(reader, rows.data())) fail_png(source.message);

  const std::size_t count = shape.values() / 3;
  if (png_get_channels(reader.png, reader.info) == 4) composite_on_white(pixels.data(), count);
  return shape;
}

}  // namespace lockstep::data
