#pragma once

#include <cstdint>

#include "lockstep/nets/kernels/multiply.h"
#include "lockstep/nets/kernels/transform_square.h"

/// How images are cut into tiles, and where transformed tiles lie in the workspace.
namespace lockstep::nets::kernels::LOCKSTEP_LANES {

inline std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}

/// The tiles of all images, row by row.
struct Grid {
  std::int64_t images, down, across;
  std::int64_t tiles() const { return images * down * across; }
};

/// Images of one layer.
struct Images {
  std::int64_t height, width, channels;

  /// Addresses of the Edge x Edge pixels that start `margin` pixels above and left of a tile, where
  /// tiles are `step` pixels apart. Pixels beyond the image are `outside`, a pixel of zeros to read
  /// or one nobody reads to write: so that the loops over channels have no cases.
  template <int Edge, class Float>
  void pixels(Float* data, const Grid& grid, std::int64_t tile, std::int64_t step,
              std::int64_t margin, Float* outside, Float* (&address)[Edge * Edge]) const {
    const std::int64_t per_image = grid.down * grid.across;
    const std::int64_t y0 = tile % per_image / grid.across * step - margin;
    const std::int64_t x0 = tile % grid.across * step - margin;
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

/// Transformed tiles or filters: for each point a matrix, in panels.
struct Points {
  float* data;
  std::int64_t rows, columns;  ///< Of each matrix.

  /// Not a power of two: the addresses one tile is written to would share a few cache sets.
  static std::int64_t stride(std::int64_t rows, std::int64_t columns) {
    return rows * columns + kPanel;
  }
  std::int64_t stride() const { return stride(rows, columns); }

  float* panel(std::int64_t point, std::int64_t index) const {
    return data + point * stride() + index * rows * kPanel;
  }
};

/// Transforms one tile, all channels, into row `row` of `points`, a column a channel.
template <int Edge, int Count, class Transform>
inline void tile_to_points(Transform transform, const float* const (&pixel)[Edge * Edge],
                           const Points& points, std::int64_t row) {
  const std::int64_t stride = points.stride();
  for (std::int64_t c = 0; c < points.columns; c += kLanes) {
    float* out = points.panel(0, c / kPanel) + row * kPanel + c % kPanel;
    transform_square<Edge, Count>(
        transform, [&](int i, int j) { return load(pixel[i * Edge + j] + c); },
        [&](int i, int j, Floats value) { store(out + (i * Count + j) * stride, value); });
  }
}

}  // namespace lockstep::nets::kernels::LOCKSTEP_LANES
