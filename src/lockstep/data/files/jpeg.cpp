#include "lockstep/data/files/jpeg.h"

#include <fmt/format.h>
#include <turbojpeg.h>

#include <memory>
#include <string_view>

#include "lockstep/base/error.h"
#include "lockstep/data/files/decode.h"

namespace lockstep::data {
namespace {

[[noreturn]] void fail_jpeg(const std::string& what) {
  throw Error(ErrorKind::kData, "damaged JPEG: " + what);
}

constexpr std::uint8_t kStartOfScan = 0xda, kEndOfImage = 0xd9;

bool has_no_length(std::uint8_t marker) {
  return marker == 0x01 || (marker >= 0xd0 && marker <= 0xd7);
}

/// c0 to cf, but for three that mean tables.
bool is_frame(std::uint8_t marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

/// Baseline, extended and progressive, with Huffman or arithmetic coding; not lossless or
/// hierarchical.
bool is_decodable(std::uint8_t marker) {
  return marker <= 0xc2 || marker == 0xc9 || marker == 0xca;
}

struct Outline {
  int height = 0, width = 0;
  std::size_t scan = 0;  // where the data of the first scan begin
};

void read_frame(std::span<const std::uint8_t> file, std::size_t at, Outline& outline) {
  if (at + 10 > file.size())
    fail_jpeg(fmt::format("it ends at byte {}, inside its header", file.size()));
  const int precision = file[at + 4], components = file[at + 9];
  if (!is_decodable(file[at + 1]) || precision != 8 ||
      (components != 1 && components != 3 && components != 4)) {
    throw Error(ErrorKind::kData,
                fmt::format("unsupported kind of JPEG ({} bits, {} components, frame {:02x})",
                            precision, components, file[at + 1]));
  }
  outline.height = file[at + 5] << 8 | file[at + 6];
  outline.width = file[at + 7] << 8 | file[at + 8];
}

/// Walks the segments before the first scan; they state their lengths.
Outline read_outline(std::span<const std::uint8_t> file) {
  Outline outline;
  std::size_t at = 2;
  while (at + 4 <= file.size()) {
    if (file[at] != 0xff) fail_jpeg(fmt::format("no marker at byte {}", at));
    const std::uint8_t marker = file[at + 1];
    if (marker == 0xff) {  // fill byte
      ++at;
      continue;
    }
    if (has_no_length(marker)) {
      at += 2;
      continue;
    }
    const std::size_t length = std::size_t{file[at + 2]} << 8 | file[at + 3];
    if (length < 2) fail_jpeg(fmt::format("a segment of length {} at byte {}", length, at));
    if (is_frame(marker)) read_frame(file, at, outline);
    at += 2 + length;
    if (marker == kStartOfScan) {
      if (outline.height < 1 || outline.width < 1) fail_jpeg("it has no pixels");
      outline.scan = at;
      return outline;
    }
  }
  fail_jpeg(fmt::format("it ends at byte {}, before its first scan", file.size()));
}

/// Inside a scan ff is always followed by 00 or a marker, so that ff d9 can only be the end of the
/// image. Sought from behind: a whole file has it there, perhaps followed by a camera's extras.
void expect_end_of_image(std::span<const std::uint8_t> file, std::size_t scan) {
  for (std::size_t at = file.size(); at >= scan + 2; --at) {
    if (file[at - 2] == 0xff && file[at - 1] == kEndOfImage) return;
  }
  fail_jpeg(fmt::format("it is truncated at byte {}", file.size()));
}

struct Destroy {
  void operator()(void* handle) const { tjDestroy(handle); }
};
using Decoder = std::unique_ptr<void, Destroy>;

Decoder make_decoder() {
  Decoder decoder(tjInitDecompress());
  if (!decoder)
    throw Error(ErrorKind::kEnvironment, "libjpeg-turbo cannot be initialised: out of memory");
  return decoder;
}

struct Header {
  int width = 0, height = 0, subsampling = 0, colours = 0;
};

Header read_header(void* decoder, std::span<const std::uint8_t> file) {
  Header h;
  if (tjDecompressHeader3(decoder, file.data(), file.size(), &h.width, &h.height, &h.subsampling,
                          &h.colours) != 0 &&
      tjGetErrorCode(decoder) != TJERR_WARNING) {
    fail_jpeg(tjGetErrorStr2(decoder));
  }
  if (h.width < 1 || h.height < 1) fail_jpeg("it has no pixels");
  return h;
}

/// The largest of 1, 2, 4 and 8 by which the image may shrink. Only these have fast inverse
/// transforms; others cost more than they save.
int shrink_factor(const Header& header, const ImageShape& at_least) {
  if (at_least.width < 1 || at_least.height < 1) return 1;
  for (int factor : {8, 4, 2}) {
    const tjscalingfactor scale{1, factor};
    if (TJSCALED(header.width, scale) >= at_least.width &&
        TJSCALED(header.height, scale) >= at_least.height) {
      return factor;
    }
  }
  return 1;
}

/// After a call that did not give 0. Cameras leave stray bytes between segments; every other
/// warning means lost pixels.
void expect_harmless(void* decoder) {
  const std::string_view message = tjGetErrorStr2(decoder);
  if (tjGetErrorCode(decoder) != TJERR_WARNING ||
      message.find("extraneous bytes") == std::string_view::npos) {
    fail_jpeg(std::string(message));
  }
}

void decompress(void* decoder, std::span<const std::uint8_t> file, const ImageShape& shape,
                int format, std::uint8_t* out) {
  if (tjDecompress2(decoder, file.data(), file.size(), out, shape.width, 0, shape.height, format,
                    TJFLAG_LIMITSCANS) != 0) {
    expect_harmless(decoder);
  }
}

ImageShape decoded_shape(const Header& header, const ImageShape& at_least) {
  const tjscalingfactor scale{1, shrink_factor(header, at_least)};
  return {3, TJSCALED(header.height, scale), TJSCALED(header.width, scale)};
}

/// Adobe stores ink inverted: 255 is none. So red is what cyan and black both let through.
void cmyk_to_rgb(const std::vector<std::uint8_t>& cmyk, std::uint8_t* out) {
  for (std::size_t i = 0; i + 4 <= cmyk.size(); i += 4) {
    const unsigned black = cmyk[i + 3];
    for (std::size_t c = 0; c < 3; ++c) {
      *out++ = static_cast<std::uint8_t>((cmyk[i + c] * black + 127) / 255);
    }
  }
}

}  // namespace

ImageShape check_jpeg(std::span<const std::uint8_t> file) {
  const Outline outline = read_outline(file);
  expect_end_of_image(file, outline.scan);
  return {3, outline.height, outline.width};
}

ImageShape decode_jpeg(std::span<const std::uint8_t> file, ImageShape at_least,
                       std::vector<std::uint8_t>& pixels) {
  const Decoder decoder = make_decoder();
  const Header header = read_header(decoder.get(), file);
  const ImageShape shape = decoded_shape(header, at_least);
  pixels.resize(shape.values() + kPixelSlack);
  if (header.colours == TJCS_CMYK || header.colours == TJCS_YCCK) {
    std::vector<std::uint8_t> cmyk(shape.values() / 3 * 4);
    decompress(decoder.get(), file, shape, TJPF_CMYK, cmyk.data());
    cmyk_to_rgb(cmyk, pixels.data());
  } else {
    decompress(decoder.get(), file, shape, TJPF_RGB, pixels.data());
  }
  return shape;
}

bool decode_jpeg_planes(std::span<const std::uint8_t> file, ImageShape at_least,
                        std::vector<std::uint8_t>& pixels, YccPlanes& planes) {
  const Decoder decoder = make_decoder();
  const Header header = read_header(decoder.get(), file);
  if (header.colours != TJCS_YCbCr || header.subsampling < 0) return false;
  const ImageShape shape = decoded_shape(header, at_least);
  const int sampling = header.subsampling;
  std::size_t sizes[3], total = 0;
  for (int c = 0; c < 3; ++c) {
    sizes[c] = tjPlaneSizeYUV(c, shape.width, 0, shape.height, sampling);
    total += sizes[c];
  }
  pixels.resize(total + kPixelSlack);
  std::uint8_t* bytes[3] = {pixels.data(), pixels.data() + sizes[0],
                            pixels.data() + sizes[0] + sizes[1]};
  if (tjDecompressToYUVPlanes(decoder.get(), file.data(), file.size(), bytes, shape.width, nullptr,
                              shape.height, TJFLAG_LIMITSCANS) != 0) {
    expect_harmless(decoder.get());
  }
  const auto plane = [&](int c) {
    const int width = tjPlaneWidth(c, shape.width, sampling);
    return ByteImage{bytes[c], static_cast<std::size_t>(width),
                     tjPlaneHeight(c, shape.height, sampling), width, 1};
  };
  planes = {plane(0), plane(1), plane(2)};
  // A plane's last column and row may be padding that only completes a group of pixels.
  planes.y.width = shape.width;
  planes.y.height = shape.height;
  planes.sub_x = tjMCUWidth[sampling] / 8;
  planes.sub_y = tjMCUHeight[sampling] / 8;
  return true;
}

}  // namespace lockstep::data
