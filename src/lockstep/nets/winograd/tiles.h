#pragma once

#include <cstdint>

#include "lockstep/nets/winograd/multiply.h"
#include "lockstep/nets/winograd/transforms.h"

/// How images are cut into tiles, and where transformed tiles lie in the workspace.
namespace lockstep::nets::winograd {

/// Images of one layer, cut into 4 x 4 tiles that may reach over the right and lower edge.
struct Images {
  std::int64_t count, height, width, channels;

  std::int64_t tiles_down() const { return (height + kTile - 1) / kTile; }
  std::int64_t tiles_across() const { return (width + kTile - 1) / kTile; }
  std::int64_t tiles() const { return count * tiles_down() * tiles_across(); }

  /// Addresses of the Edge x Edge pixels that start `margin` pixels above and left of a tile.
  /// Pixels beyond the image are `outside`, a pixel of zeros to read or one nobody reads to write:
  /// so that the loops over channels have no cases.
  template <int Edge, class Float>
  void pixels(Float* data, std::int64_t tile, std::int64_t margin, Float* outside,
              Float* (&address)[Edge * Edge]) const {
    const std::int64_t per_image = tiles_down() * tiles_across();
    const std::int64_t y0 = tile % per_image / tiles_across() * kTile - margin;
    const std::int64_t x0 = tile % tiles_across() * kTile - margin;
    Float* image = data + tile / per_image * height * width * channels;
    for (int i = 0; i < Edge; ++i) {
      for (int j = 0; j < Edge; ++j) {
        const std::int64_t y = y0 + i, x = x0 + j;
        const bool inside = y >= 0 && y < height && x >= 0 && x < width;
        address[i * Edge + j] = inside ? image + (y * width + x) * channels : outside;
      }
    }
  }
};

/// Transformed tiles: for each of the 36 points a matrix of tiles (rows) x channels, in panels.
struct Points {
  float* data;
  std::int64_t rows;  ///< Of every panel.
  std::int64_t channels;

  /// Not a power of two: the 36 addresses one tile is written to would share a few cache sets.
  static std::int64_t stride(std::int64_t rows, std::int64_t channels) {
    return rows * channels + kPanel;
  }
  static std::int64_t floats(std::int64_t rows, std::int64_t channels) {
    return kPoints * stride(rows, channels);
  }
  float* panel(std::int64_t point, std::int64_t index) const {
    return data + point * stride(rows, channels) + index * rows * kPanel;
  }
};

/// Transforms one tile, all channels, into row `row` of `points`. With Edge 6 these are input
/// pixels (Bᵗ d B), with Edge 4 output gradients (A y Aᵗ).
template <int Edge, class Transform>
inline void tile_to_points(Transform transform, const float* const (&pixel)[Edge * Edge],
                           const Points& points, std::int64_t row) {
  const std::int64_t stride = Points::stride(points.rows, points.channels);
  for (std::int64_t c = 0; c < points.channels; c += kLanes) {
    float* out = points.panel(0, c / kPanel) + row * kPanel + c % kPanel;
    transform_square<Edge, kEdge>(
        transform, [&](int i, int j) { return load(pixel[i * Edge + j] + c); },
        [&](int i, int j, Floats value) { store(out + (i * kEdge + j) * stride, value); });
  }
}

}  // namespace lockstep::nets::winograd
