#include "lockstep/data/augment/resize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lockstep/base/rng.h"
#include "lockstep/data/files/decode_resized.h"
#include "lockstep/data/test_images.h"

namespace lockstep::data {
namespace {

/// The definition, one value at a time and in double: for each output position the weighted mean of
/// the input with a triangle of half-width max(1, scale) around its centre.
double resize_reference(const ByteImage& in, const Box& box, int height, int width, int y, int x,
                        int c) {
  const auto axis = [](double begin, double end, int limit, int size, int i) {
    const double scale = (end - begin) / size, reach = std::max(scale, 1.0);
    const double centre = begin + (i + 0.5) * scale;
    std::vector<std::pair<int, double>> weights;
    double sum = 0;
    for (int p = static_cast<int>(begin); p < std::min<double>(limit, std::ceil(end)); ++p) {
      const double weight = 1 - std::abs(p + 0.5 - centre) / reach;
      if (weight <= 0) continue;
      weights.emplace_back(p, weight);
      sum += weight;
    }
    for (auto& entry : weights) entry.second /= sum;
    return weights;
  };
  double value = 0;
  for (const auto& [row, wr] : axis(box.top, box.bottom, in.height, height, y)) {
    for (const auto& [column, wc] : axis(box.left, box.right, in.width, width, x)) {
      value += wr * wc *
               in.bytes[static_cast<std::size_t>(row) * in.stride +
                        static_cast<std::size_t>(column * in.channels + c)];
    }
  }
  return value;
}

TEST(Resize, EqualsItsDefinitionToOneLevel) {
  Rng rng(1);
  ResizeScratch scratch;
  ByteList out;
  for (int trial = 0; trial < 150; ++trial) {
    const int h = 1 + static_cast<int>(rng.below(70)), w = 1 + static_cast<int>(rng.below(70));
    const int channels = rng.below(2) == 0 ? 1 : 3;
    const int height = 1 + static_cast<int>(rng.below(40)),
              width = 1 + static_cast<int>(rng.below(40));
    ByteList pixels(static_cast<std::size_t>(h * w * channels));
    for (auto& pixel : pixels) pixel = static_cast<std::uint8_t>(rng.next());
    const ByteImage in{pixels.data(), static_cast<std::size_t>(w * channels), h, w, channels};
    Box box{0, 0, static_cast<double>(h), static_cast<double>(w)};
    if (rng.below(2) == 0 && h > 4 && w > 4) box = {1.5, 1, h - 1.25, w - 2.0};
    const ByteImage got = resize(in, box, height, width, out, scratch);
    ASSERT_EQ(got.height, height);
    ASSERT_EQ(got.width, width);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        for (int c = 0; c < channels; ++c) {
          const int value = got.bytes[static_cast<std::size_t>(y) * got.stride +
                                      static_cast<std::size_t>(x * channels + c)];
          // Half a level from each of two roundings, and a little from the weights.
          ASSERT_NEAR(value, resize_reference(in, box, height, width, y, x, c), 1.15)
              << h << " x " << w << " to " << height << " x " << width;
        }
      }
    }
  }
}

TEST(Resize, KeepsAnEvenImageEven) {
  ResizeScratch scratch;
  ByteList out;
  for (int level : {0, 1, 127, 254, 255}) {
    const ByteList pixels(61 * 47, static_cast<std::uint8_t>(level));
    for (int size : {1, 7, 32, 47, 200}) {
      const ByteImage got =
          resize({pixels.data(), 61, 47, 61, 1}, {0, 0, 47, 61}, size, size, out, scratch);
      for (int y = 0; y < size; ++y) {
        for (int x = 0; x < size; ++x) {
          ASSERT_EQ(
              got.bytes[static_cast<std::size_t>(y) * got.stride + static_cast<std::size_t>(x)],
              level);
        }
      }
    }
  }
}

TEST(Resize, LeavesAnImageOfTheSameSizeAlone) {
  ResizeScratch scratch;
  ByteList out;
  const ByteList pixels = smooth_pixels(33, 21, 3);
  const ByteImage got =
      resize({pixels.data(), 63, 33, 21, 3}, {0, 0, 33, 21}, 33, 21, out, scratch);
  for (std::size_t y = 0; y < 33; ++y) {
    for (std::size_t i = 0; i < 63; ++i)
      ASSERT_EQ(got.bytes[y * got.stride + i], pixels[y * 63 + i]);
  }
}

TEST(DecodeResized, EqualsDecodingThenResizing) {
  DecodeScratch scratch;
  ResizeScratch resize_scratch;
  for (int sampling : {TJSAMP_444, TJSAMP_422, TJSAMP_420, TJSAMP_440, TJSAMP_411, TJSAMP_GRAY}) {
    for (const auto& [h, w] :
         {std::pair{75, 101}, std::pair{30, 20}, std::pair{1, 1}, std::pair{300, 401}}) {
      const ByteList file = make_jpeg(smooth_pixels(h, w, 3), h, w, TJPF_RGB, sampling);
      ByteList direct, whole, resized;
      const Crop crop{0.2, 0.1};
      decode_resized(file, {}, crop, {3, 32, 40}, direct, scratch);
      decode_image(file, {}, {}, whole);
      const ByteImage expected = resize({whole.data(), static_cast<std::size_t>(3 * w), h, w, 3},
                                        {0.2 * h, 0, h - 0.1 * h, static_cast<double>(w)}, 32, 40,
                                        resized, resize_scratch);
      int most = 0;
      for (std::size_t y = 0; y < 32; ++y) {
        for (std::size_t i = 0; i < 120; ++i) {
          most = std::max(most,
                          std::abs(direct[y * 120 + i] - expected.bytes[y * expected.stride + i]));
        }
      }
      // Colour is enlarged by another filter than the decoder's; 4:1:1 has a quarter of it.
      EXPECT_LE(most, sampling == TJSAMP_411 ? 12 : 6)
          << "sampling " << sampling << ", " << h << " x " << w;
    }
  }
}

}  // namespace
}  // namespace lockstep::data
