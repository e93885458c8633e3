#include "lockstep/data/augment/affine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lockstep/base/error.h"
#include "lockstep/data/random_pixels.h"

namespace lockstep::data {
namespace {

/// One pixel by the definition: undo the move, the turn and zoom about the centre, the mirror.
double affine_reference(const AffineOptions& o, const ImageView& image, Rng rng, int c, int y,
                        int x) {
  const auto even = [&](double range) { return (2 * rng.uniform() - 1) * range; };
  const double angle = even(o.rotation) * std::numbers::pi / 180, factor = 1 + even(o.zoom);
  const double move_x = even(o.shift_x) * o.input.width, move_y = even(o.shift_y) * o.input.height;
  const bool flip = rng.uniform() < o.flip_probability;
  const double cx = (o.input.width - 1) / 2.0, cy = (o.input.height - 1) / 2.0;
  const double px = x - move_x - cx, py = y - move_y - cy;
  double sx = (std::cos(angle) * px + std::sin(angle) * py) / factor + cx;
  const double sy = (-std::sin(angle) * px + std::cos(angle) * py) / factor + cy;
  if (flip) sx = o.input.width - 1 - sx;
  const auto at = [&](int row, int column) -> double {
    const bool inside = row >= 0 && row < o.input.height && column >= 0 && column < o.input.width;
    if (!inside && o.fill == Fill::kBlack) return 0;
    row = std::clamp(row, 0, o.input.height - 1);
    column = std::clamp(column, 0, o.input.width - 1);
    return image.order == PixelOrder::kPlanar
               ? image.pixels[(c * o.input.height + row) * o.input.width + column]
               : image.pixels[(row * o.input.width + column) * o.input.channels + c];
  };
  const int row = static_cast<int>(std::floor(sy)), column = static_cast<int>(std::floor(sx));
  const double fy = sy - row, fx = sx - column;
  const double value = (1 - fy) * ((1 - fx) * at(row, column) + fx * at(row, column + 1)) +
                       fy * ((1 - fx) * at(row + 1, column) + fx * at(row + 1, column + 1));
  const auto k = static_cast<std::size_t>(c);
  return (value / 255 - o.normalisation.mean[k]) / o.normalisation.deviation[k];
}

AffineOptions random_affine(Rng& rng) {
  AffineOptions o;
  o.input = {1 + static_cast<int>(rng.below(4)), 1 + static_cast<int>(rng.below(30)),
             1 + static_cast<int>(rng.below(40))};
  o.rotation = rng.uniform() * 180;
  o.zoom = rng.uniform() * 0.5;
  o.shift_x = rng.uniform() * 0.5;
  o.shift_y = rng.uniform() * 0.5;
  o.flip_probability = 0.5;
  o.fill = rng.below(2) == 0 ? Fill::kEdge : Fill::kBlack;
  o.order = rng.below(2) == 0 ? PixelOrder::kPlanar : PixelOrder::kInterleaved;
  for (int c = 0; c < o.input.channels; ++c) {
    o.normalisation.mean.push_back(static_cast<float>(rng.uniform()));
    o.normalisation.deviation.push_back(static_cast<float>(0.5 + rng.uniform()));
  }
  return o;
}

TEST(Affine, EqualsItsDefinition) {
  Rng rng(1);
  TransformScratch scratch;
  for (int trial = 0; trial < 200; ++trial) {
    const AffineOptions o = random_affine(rng);
    const auto pixels = random_pixels(o.input, rng);
    const ImageView view{pixels.data(), o.input,
                         rng.below(2) == 0 ? PixelOrder::kPlanar : PixelOrder::kInterleaved};
    const Rng key = augmentation_rng(3, 1, trial);
    std::vector<float> out(o.input.values());
    make_affine(o)->apply(view, key, out.data(), scratch);
    for (int c = 0; c < o.input.channels; ++c) {
      for (int y = 0; y < o.input.height; ++y) {
        for (int x = 0; x < o.input.width; ++x) {
          const int at = o.order == PixelOrder::kPlanar
                             ? (c * o.input.height + y) * o.input.width + x
                             : (y * o.input.width + x) * o.input.channels + c;
          // Coordinates are floats: 1e-5 of a pixel off, times a jump of up to 1 / 0.5 between
          // neighbours.
          ASSERT_NEAR(out[static_cast<std::size_t>(at)], affine_reference(o, view, key, c, y, x),
                      1e-4)
              << trial;
        }
      }
    }
  }
}

TEST(Affine, OnlyNormalisesWithoutRanges) {
  Rng rng(2);
  AffineOptions o;
  o.input = {3, 17, 23};
  o.normalisation = {{0, 0, 0}, {1.0F / 255, 1.0F / 255, 1.0F / 255}};
  const auto pixels = random_pixels(o.input, rng);
  std::vector<float> out(o.input.values());
  TransformScratch scratch;
  make_affine(o)->apply({pixels.data(), o.input, PixelOrder::kPlanar}, Rng(1), out.data(), scratch);
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], pixels[i], 1e-3);
}

TEST(Affine, RefusesOptionsAndImagesThatMakeNoSense) {
  AffineOptions good;
  good.input = {1, 4, 4};
  good.normalisation = {{0}, {1}};
  const auto transform = make_affine(good);
  const std::vector<std::uint8_t> pixels(64);
  std::vector<float> out(64);
  TransformScratch scratch;
  EXPECT_THROW(transform->apply({pixels.data(), {1, 4, 5}, PixelOrder::kPlanar}, Rng(1), out.data(),
                                scratch),
               Error);
  const auto refused = [&](auto change) {
    AffineOptions bad = good;
    change(bad);
    EXPECT_THROW(make_affine(bad), Error);
  };
  refused([](AffineOptions& o) { o.rotation = -1; });
  refused([](AffineOptions& o) { o.zoom = 1; });
  refused([](AffineOptions& o) { o.shift_x = std::nan(""); });
  refused([](AffineOptions& o) { o.input.channels = 5; });
  refused([](AffineOptions& o) { o.normalisation.deviation = {0}; });
  refused([](AffineOptions& o) { o.flip_probability = 2; });
}

}  // namespace
}  // namespace lockstep::data
