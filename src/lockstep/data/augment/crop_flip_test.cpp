#include "lockstep/data/augment/crop_flip.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "lockstep/base/error.h"
#include "lockstep/data/random_pixels.h"

namespace lockstep::data {
namespace {

/// The same in the plainest way: pad, cut, mirror, divide, normalise, one value at a time.
std::vector<float> crop_reference(const CropFlipOptions& o, const std::vector<std::uint8_t>& pixels,
                                  Rng rng) {
  int top = o.padding, left = o.padding;
  if (o.padding > 0) {
    top = static_cast<int>(rng.below(static_cast<std::uint64_t>(2 * o.padding + 1)));
    left = static_cast<int>(rng.below(static_cast<std::uint64_t>(2 * o.padding + 1)));
  }
  const bool flip = o.flip_probability > 0 && rng.uniform() < o.flip_probability;
  const auto [channels, height, width] = o.input;
  std::vector<float> out(o.input.values());
  for (int c = 0; c < channels; ++c) {
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const int sy = y + top - o.padding;
        const int sx = (flip ? width - 1 - x : x) + left - o.padding;
        const bool inside = sy >= 0 && sy < height && sx >= 0 && sx < width;
        const double raw =
            inside ? pixels[static_cast<std::size_t>((c * height + sy) * width + sx)] : 0;
        const auto k = static_cast<std::size_t>(c);
        const double value = (raw / 255 - o.normalisation.mean[k]) / o.normalisation.deviation[k];
        const int at = o.order == PixelOrder::kPlanar ? (c * height + y) * width + x
                                                      : (y * width + x) * channels + c;
        out[static_cast<std::size_t>(at)] = static_cast<float>(value);
      }
    }
  }
  return out;
}

CropFlipOptions random_crop(Rng& rng) {
  CropFlipOptions o;
  o.input = {1 + static_cast<int>(rng.below(4)), 1 + static_cast<int>(rng.below(40)),
             1 + static_cast<int>(rng.below(70))};
  o.padding = static_cast<int>(rng.below(6));
  o.flip_probability = static_cast<double>(rng.below(3)) / 2;
  o.order = rng.below(2) == 0 ? PixelOrder::kPlanar : PixelOrder::kInterleaved;
  for (int c = 0; c < o.input.channels; ++c) {
    o.normalisation.mean.push_back(static_cast<float>(rng.uniform()));
    o.normalisation.deviation.push_back(static_cast<float>(0.1 + rng.uniform()));
  }
  return o;
}

TEST(CropFlip, EqualsThePlainReference) {
  Rng rng(1);
  TransformScratch scratch;
  for (int trial = 0; trial < 500; ++trial) {
    const CropFlipOptions options = random_crop(rng);
    const auto pixels = random_pixels(options.input, rng);
    const auto transform = make_crop_flip(options);
    std::vector<float> out(options.input.values(), -1e9F);
    const Rng key = augmentation_rng(5, 1, trial);
    transform->apply({pixels.data(), options.input, PixelOrder::kPlanar}, key, out.data(), scratch);
    const auto expected = crop_reference(options, pixels, key);
    // Values reach 10 in size; a product and a sum in float err by a few units in the last place.
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], expected[i], 5e-6) << trial;
  }
}

TEST(CropFlip, DrawsEveryPlaceAndBothDirectionsEvenly) {
  const CropFlipOptions options{.input = {1, 8, 8},
                                .padding = 2,
                                .flip_probability = 0.5,
                                .normalisation = {{0}, {1.0F / 255}}};
  const auto transform = make_crop_flip(options);
  std::vector<std::uint8_t> pixels(64);
  for (std::size_t i = 0; i < 64; ++i) pixels[i] = static_cast<std::uint8_t>(i + 1);
  TransformScratch scratch;
  std::map<std::vector<float>, int> seen;
  constexpr int kDraws = 50'000;
  for (int i = 0; i < kDraws; ++i) {
    std::vector<float> out(64);
    transform->apply({pixels.data(), options.input, PixelOrder::kPlanar}, augmentation_rng(1, 1, i),
                     out.data(), scratch);
    ++seen[out];
  }
  ASSERT_EQ(seen.size(), 50U);  // 5 x 5 places, mirrored or not
  // A count is binomial around 1000 with standard deviation 31.3; five of them.
  for (const auto& [image, count] : seen) EXPECT_NEAR(count, kDraws / 50, 157);
}

TEST(CropFlip, DependsOnSeedEpochAndIndexAlone) {
  Rng rng(2);
  CropFlipOptions options{.input = {3, 32, 32},
                          .padding = 4,
                          .flip_probability = 0.5,
                          .normalisation = {{0, 0, 0}, {1, 1, 1}}};
  const auto transform = make_crop_flip(options);
  const auto pixels = random_pixels(options.input, rng);
  TransformScratch used, fresh;
  const auto draw = [&](std::uint64_t seed, int epoch, std::int64_t index,
                        TransformScratch& scratch) {
    std::vector<float> out(options.input.values());
    transform->apply({pixels.data(), options.input, PixelOrder::kPlanar},
                     augmentation_rng(seed, epoch, index), out.data(), scratch);
    return out;
  };
  const auto first = draw(1, 1, 1, used);
  int same_epoch = 0, same_index = 0;
  for (int i = 2; i < 40; ++i) {
    same_epoch += draw(1, i, 1, used) == first;
    same_index += draw(1, 1, i, used) == first;
  }
  EXPECT_LT(same_epoch, 5);
  EXPECT_LT(same_index, 5);
  EXPECT_EQ(draw(1, 1, 1, fresh), first);
}

TEST(CropFlip, RefusesImagesOfAnotherShape) {
  const CropFlipOptions options{.input = {1, 4, 4}, .normalisation = {{0}, {1}}};
  const auto transform = make_crop_flip(options);
  const std::vector<std::uint8_t> pixels(64);
  std::vector<float> out(64);
  TransformScratch scratch;
  EXPECT_THROW(transform->apply({pixels.data(), {1, 4, 5}, PixelOrder::kPlanar}, Rng(1), out.data(),
                                scratch),
               Error);
}

TEST(CropFlip, RefusesOptionsThatMakeNoSense) {
  const CropFlipOptions good{.input = {1, 4, 4}, .normalisation = {{0}, {1}}};
  EXPECT_NO_THROW(make_crop_flip(good));
  auto bad = good;
  bad.padding = -1;
  EXPECT_THROW(make_crop_flip(bad), Error);
  bad = good;
  bad.flip_probability = 1.5;
  EXPECT_THROW(make_crop_flip(bad), Error);
  bad = good;
  bad.normalisation.deviation = {0};
  EXPECT_THROW(make_crop_flip(bad), Error);
  bad = good;
  bad.normalisation.mean = {0, 0};
  EXPECT_THROW(make_crop_flip(bad), Error);
}

}  // namespace
}  // namespace lockstep::data
