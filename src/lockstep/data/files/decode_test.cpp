#include "lockstep/data/files/decode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"
#include "lockstep/base/test_folder.h"
#include "lockstep/data/files/decode_resized.h"
#include "lockstep/data/test_error.h"
#include "lockstep/data/test_images.h"

namespace lockstep::data {
namespace {

/// RGB without the slack.
ByteList decode(const ByteList& file, ImageShape* shape = nullptr, ImageShape at_least = {}) {
  ByteList pixels;
  const ImageShape got = decode_image(file, {}, at_least, pixels);
  if (shape) *shape = got;
  pixels.resize(got.values());
  return pixels;
}

int largest_difference(const ByteList& a, const ByteList& b) {
  EXPECT_EQ(a.size(), b.size());
  int most = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

void expect_refused(const ByteList& file, const std::string& part) {
  ByteList pixels;
  const std::string message = data_error([&] { decode_image(file, {}, {}, pixels); });
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(DecodeJpeg, GivesThePixelsBackForAnySampling) {
  const ByteList pixels = smooth_pixels(45, 61, 3);
  for (int sampling : {TJSAMP_444, TJSAMP_422, TJSAMP_420, TJSAMP_440, TJSAMP_411}) {
    for (int flags : {0, TJFLAG_PROGRESSIVE}) {
      ImageShape shape;
      const ByteList got = decode(make_jpeg(pixels, 45, 61, TJPF_RGB, sampling, flags), &shape);
      EXPECT_EQ(shape, (ImageShape{3, 45, 61}));
      EXPECT_LE(largest_difference(got, pixels), 12) << sampling;  // colour is stored coarser
    }
  }
}

TEST(DecodeJpeg, RepeatsGrey) {
  const ByteList grey = smooth_pixels(20, 30, 1);
  const ByteList got = decode(make_jpeg(grey, 20, 30, TJPF_GRAY, TJSAMP_GRAY));
  for (std::size_t i = 0; i < grey.size(); ++i) {
    EXPECT_NEAR(got[3 * i], grey[i], 4);
    EXPECT_EQ(got[3 * i], got[3 * i + 1]);
    EXPECT_EQ(got[3 * i], got[3 * i + 2]);
  }
}

TEST(DecodeJpeg, ReadsCmykAsAdobeStoresIt) {
  // Inverted ink: no cyan, half magenta, all yellow, no black is orange.
  ByteList cmyk;
  for (int i = 0; i < 16 * 16; ++i) cmyk.insert(cmyk.end(), {255, 128, 0, 255});
  const ByteList got = decode(make_jpeg(cmyk, 16, 16, TJPF_CMYK, TJSAMP_444));
  EXPECT_NEAR(got[0], 255, 3);
  EXPECT_NEAR(got[1], 128, 3);
  EXPECT_NEAR(got[2], 0, 3);
}

TEST(DecodeJpeg, ShrinksLargeFilesButNeverBelowWhatIsAskedFor) {
  const ByteList file = smooth_jpeg(400, 600);
  ImageShape shape;
  decode(file, &shape, {3, 90, 90});
  EXPECT_EQ(shape, (ImageShape{3, 100, 150}));
  decode(file, &shape, {3, 101, 150});
  EXPECT_EQ(shape, (ImageShape{3, 200, 300}));
  decode(file, &shape, {3, 201, 10});
  EXPECT_EQ(shape, (ImageShape{3, 400, 600}));
}

TEST(DecodeJpeg, AcceptsBytesAfterTheEnd) {
  ByteList file = smooth_jpeg(20, 20);
  const ByteList sound = decode(file);
  file.insert(file.end(), 1000, 0x5a);
  EXPECT_EQ(decode(file), sound);
}

TEST(DecodeJpeg, RefusesFilesCutShortAnywhere) {
  const ByteList file = smooth_jpeg(64, 64);
  for (std::size_t size = 3; size < file.size(); ++size) {
    ByteList pixels;
    EXPECT_THROW(
        decode_image(ByteList(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)), {},
                     {}, pixels),
        Error)
        << size;
  }
}

TEST(DecodePng, ReadsEveryKind) {
  const ByteList rgb = smooth_pixels(9, 13, 3);
  EXPECT_EQ(decode(make_png(rgb, 9, 13)), rgb);
  EXPECT_EQ(decode(make_png(rgb, 9, 13, {.interlaced = true})), rgb);

  const ByteList grey = smooth_pixels(9, 13, 1);
  ByteList repeated;
  for (auto level : grey) repeated.insert(repeated.end(), 3, level);
  EXPECT_EQ(decode(make_png(grey, 9, 13, {.colour = PNG_COLOR_TYPE_GRAY})), repeated);

  ByteList sixteen;
  for (auto level : rgb) sixteen.insert(sixteen.end(), {level, level});  // level * 257
  EXPECT_EQ(decode(make_png(sixteen, 9, 13, {.bits = 16})), rgb);

  // One row of eight pixels in one bit each.
  const ByteList bits =
      decode(make_png({0b10100000}, 1, 8, {.bits = 1, .colour = PNG_COLOR_TYPE_GRAY}));
  EXPECT_EQ(ByteList(bits.begin(), bits.begin() + 9),
            (ByteList{255, 255, 255, 0, 0, 0, 255, 255, 255}));

  const ByteList one = decode(make_png({7, 8, 9}, 1, 1));
  EXPECT_EQ(one, (ByteList{7, 8, 9}));
}

TEST(DecodePng, CompositesTransparencyOnWhite) {
  const ByteList rgba = {10, 20, 30, 255, 10, 20, 30, 0, 10, 20, 30, 128};
  const ByteList expected = {10, 20, 30, 255, 255, 255, 132, 137, 142};
  EXPECT_EQ(decode(make_png(rgba, 1, 3, {.colour = PNG_COLOR_TYPE_RGBA})), expected);
  EXPECT_EQ(decode(make_png({100, 0, 100, 255}, 1, 2, {.colour = PNG_COLOR_TYPE_GRAY_ALPHA})),
            (ByteList{255, 255, 255, 100, 100, 100}));
}

TEST(DecodePng, LooksPalettesUp) {
  const PngKind kind{.colour = PNG_COLOR_TYPE_PALETTE,
                     .palette = {{1, 2, 3}, {200, 100, 50}},
                     .palette_alpha = {255, 0}};
  EXPECT_EQ(decode(make_png({0, 1, 0}, 1, 3, kind)), (ByteList{1, 2, 3, 255, 255, 255, 1, 2, 3}));
}

TEST(DecodePng, RefusesFilesCutShortAnywhere) {
  const ByteList file = make_png(smooth_pixels(16, 16, 3), 16, 16);
  for (std::size_t size = 8; size < file.size(); ++size) {
    expect_refused(ByteList(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)),
                   "damaged PNG");
  }
}

TEST(DecodeImage, GoesByContentAndNamesWhatItCannotRead) {
  using namespace std::string_literals;
  const auto bytes = [](const std::string& text) { return ByteList(text.begin(), text.end()); };
  expect_refused({}, "empty");
  expect_refused(bytes("hello, this is no image"), "not an image");
  expect_refused(bytes("GIF89a\x01\x00\x01\x00"s), "GIF images are not supported");
  expect_refused(bytes("RIFF\x10\x00\x00\x00WEBPVP8 "s), "WebP images are not supported");
  expect_refused(bytes("BM      "), "BMP images");
  expect_refused(bytes("II*\0    "s), "TIFF images");
  expect_refused(bytes("\xff\xd8\xff"s), "damaged JPEG");
}

TEST(DecodeImage, RefusesBombsBeforeAllocating) {
  ByteList file = make_png({7, 8, 9}, 1, 1);
  file[16] = 0;  // the header's width and height: 65536 x 65536
  file[17] = 1;
  file[18] = file[19] = 0;
  std::copy(file.begin() + 16, file.begin() + 20, file.begin() + 20);
  expect_refused(file, "exceeds the limit");

  ByteList jpeg = smooth_jpeg(16, 16);
  const ByteList marker = {0xff, 0xc0};
  const auto frame = std::search(jpeg.begin(), jpeg.end(), marker.begin(), marker.end());
  ASSERT_NE(frame, jpeg.end());
  std::fill(frame + 5, frame + 9, std::uint8_t{0xfe});  // height and width
  expect_refused(jpeg, "exceeds the limit");
}

/// However a file is damaged, decoding gives pixels or a kData error: never a crash, never another
/// kind of error. The sanitizer builds look closer.
TEST(DecodeImage, SurvivesAnyDamage) {
  Rng rng(11);
  const std::vector<ByteList> files = {
      smooth_jpeg(50, 40),
      make_jpeg(smooth_pixels(33, 35, 3), 33, 35, TJPF_RGB, TJSAMP_444, TJFLAG_PROGRESSIVE),
      make_jpeg(smooth_pixels(16, 16, 4), 16, 16, TJPF_CMYK, TJSAMP_444),
      make_png(smooth_pixels(20, 20, 3), 20, 20),
      make_png(smooth_pixels(20, 20, 4), 20, 20,
               {.colour = PNG_COLOR_TYPE_RGBA, .interlaced = true}),
      make_png(ByteList(64, 1), 8, 8,
               {.colour = PNG_COLOR_TYPE_PALETTE, .palette = {{1, 2, 3}, {4, 5, 6}}})};
  const DecodeLimits limits{.pixels = 1'000'000, .file_bytes = 1'000'000};
  DecodeScratch scratch;
  ByteList pixels;
  int sound = 0, refused = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    ByteList file = files[rng.below(files.size())];
    for (std::uint64_t i = rng.below(6); i > 0; --i) {
      file[rng.below(file.size())] = static_cast<std::uint8_t>(rng.next());
    }
    if (rng.below(4) == 0) file.resize(rng.below(file.size()));
    if (rng.below(4) == 0) {
      const auto at = static_cast<std::ptrdiff_t>(rng.below(file.size() + 1));
      file.insert(file.begin() + at, 1 + rng.below(40), static_cast<std::uint8_t>(rng.next()));
    }
    try {
      if (trial % 2 == 0) {
        decode_image(file, limits, {3, 8, 8}, pixels);
      } else {
        decode_resized(file, limits, {0.1, 0.1}, {3, 17, 19}, pixels, scratch);
      }
      ++sound;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kData) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(sound, 100);
  EXPECT_GT(refused, 100);
}

TEST(ReadFile, ReportsWhatCannotBeRead) {
  TestFolder folder;
  ByteList bytes;
  EXPECT_THROW(read_file(folder.path() + "/none", {}, bytes), Error);
  EXPECT_THROW(read_file(folder.path(), {}, bytes), Error);
  const std::string path = folder.write("ten", ByteList(10, 1));
  EXPECT_THROW(read_file(path, {.file_bytes = 9}, bytes), Error);
  read_file(path, {}, bytes);
  EXPECT_EQ(bytes, ByteList(10, 1));
}

}  // namespace
}  // namespace lockstep::data
