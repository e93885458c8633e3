#include "lockstep/nets/kernels/conv3x3.h"
#include "lockstep/nets/kernels/stride1.h"
#include "lockstep/nets/kernels/stride2.h"
#include "lockstep/nets/kernels/tiles.h"
#include "lockstep/nets/kernels/weights.h"

namespace lockstep::nets::kernels {
namespace {

/// Which weights a product takes: those of the layer, or turned and transposed for the gradient.
enum class Direction { kForward, kBackward };

/// One convolution by a Scheme, cut so that what is used together stays in a cache. Tiles are taken
/// in blocks; for each block and each group of output panels there is a matrix product for every
/// point.
template <class Scheme, Direction direction>
struct Convolution {
  static constexpr int kPoints = Scheme::kPoints * Scheme::kPoints;
  static constexpr int kFilters = Scheme::kFilterPoints * Scheme::kFilterPoints;

  Grid grid;
  Images from, to;
  std::int64_t block;   ///< Tiles in a block.
  std::int64_t panels;  ///< Output panels in a group.

  Convolution(std::int64_t images, const Images& from_images, const Images& to_images)
      : grid{images, (to_images.height + Scheme::kResult - 1) / Scheme::kResult,
             (to_images.width + Scheme::kResult - 1) / Scheme::kResult},
        from(from_images),
        to(to_images) {
    // Transformed weights are 4 times the weights. Up to 10 MB they are made once and each block of
    // tiles, which fits the L2 cache or nearly, reads them from the L3 cache. Larger ones would
    // have to come from memory: they are made group by group, for a block with as many tiles as
    // there are.
    constexpr std::int64_t kManyWeights = 256 * 256;
    const bool many = from.channels * to.channels > kManyWeights;
    block = smaller(many ? 192 : from.channels <= 64 ? 24 : 48, grid.tiles());
    panels = smaller(many ? 4 : to.channels / kPanel, to.channels / kPanel);
  }

  std::int64_t groups() const { return (to.channels / kPanel + panels - 1) / panels; }
  std::int64_t tile_floats() const { return kPoints * Points::stride(block, from.channels); }
  std::int64_t filter_floats() const {
    return kFilters * Points::stride(from.channels, panels * kPanel);
  }
  std::int64_t product_floats() const { return kPoints * Points::stride(block, panels * kPanel); }
  std::int64_t floats() const {
    return from.channels + to.channels + tile_floats() + filter_floats() + product_floats();
  }

  void run(const float* input, const float* weights, float* output,
           const Workspace& workspace) const {
#pragma omp parallel num_threads(workspace.threads) if (workspace.threads > 1)
    share(input, weights, output, workspace.floats);
  }

 private:
  /// Every thread runs this; the `omp for` loops in the functions it calls share the work, and
  /// threads wait for each other at the ends of these loops.
  void share(const float* input, const float* weights, float* output, float* floats) const {
    float* zeros = floats;
    float* waste = zeros + from.channels;
    const Points tiles{waste + to.channels, block, from.channels};
    const Points filters{tiles.data + tile_floats(), from.channels, panels * kPanel};
    const Points products{filters.data + filter_floats(), block, panels * kPanel};
#pragma omp single
    for (std::int64_t c = 0; c < from.channels; ++c) zeros[c] = 0;

    for (std::int64_t tile = 0; tile < grid.tiles(); tile += block) {
      const std::int64_t rows = smaller(block, grid.tiles() - tile);
      transform_tiles(input, tile, rows, zeros, tiles);
      for (std::int64_t first = 0; first < to.channels / kPanel; first += panels) {
        const std::int64_t count = smaller(panels, to.channels / kPanel - first);
        if (tile == 0 || groups() > 1) transform_weights(weights, first, count, filters);
        multiply_points(tiles, filters, products, rows, count);
        transform_products(products, tile, rows, first, count, waste, output);
      }
    }
  }

  void transform_tiles(const float* input, std::int64_t tile, std::int64_t rows, const float* zeros,
                       const Points& tiles) const {
#pragma omp for schedule(static)
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* pixel[Scheme::kSource * Scheme::kSource];
      from.pixels<Scheme::kSource, const float>(input, grid, tile + row, Scheme::kSourceStep,
                                                Scheme::kMargin, zeros, pixel);
      tile_to_points<Scheme::kSource, Scheme::kPoints>(
          [](const auto& source, auto& points) { Scheme::source_to_points(source, points); }, pixel,
          tiles, row);
    }
  }

  void transform_weights(const float* weights, std::int64_t first, std::int64_t count,
                         const Points& filters) const {
#pragma omp for collapse(2) schedule(static)
    for (std::int64_t panel = 0; panel < count; ++panel) {
      for (std::int64_t c = 0; c < from.channels; c += kLanes) {
        const std::int64_t k = (first + panel) * kPanel;
        if constexpr (direction == Direction::kForward) {
          weights_to_points<Scheme>(weights, from.channels, k, c, filters, panel);
        } else {
          turned_weights_to_points<Scheme>(weights, to.channels, c, k, filters, panel);
        }
      }
    }
  }

  void multiply_points(const Points& tiles, const Points& filters, const Points& products,
                       std::int64_t rows, std::int64_t count) const {
#pragma omp for collapse(2) schedule(static)
    for (int point = 0; point < kPoints; ++point) {
      for (std::int64_t panel = 0; panel < count; ++panel) {
        const int filter = Scheme::filter_point(point / Scheme::kPoints) * Scheme::kFilterPoints +
                           Scheme::filter_point(point % Scheme::kPoints);
        multiply(rows, tiles.panel(point, 0), block * kPanel, from.channels / kPanel,
                 filters.panel(filter, panel), products.panel(point, panel));
      }
    }
  }

  void transform_products(const Points& products, std::int64_t tile, std::int64_t rows,
                          std::int64_t first, std::int64_t count, float* waste,
                          float* output) const {
    constexpr int kEdge = Scheme::kResult;
    const std::int64_t stride = products.stride();
#pragma omp for schedule(static)
    for (std::int64_t row = 0; row < rows; ++row) {
      float* pixel[kEdge * kEdge];
      to.pixels<kEdge, float>(output, grid, tile + row, kEdge, 0, waste, pixel);
      for (std::int64_t c = 0; c < count * kPanel; c += kLanes) {
        const float* in = products.panel(0, c / kPanel) + row * kPanel + c % kPanel;
        transform_square<Scheme::kPoints, kEdge>(
            [](const auto& points, auto& result) { Scheme::points_to_result(points, result); },
            [&](int i, int j) { return load(in + (i * Scheme::kPoints + j) * stride); },
            [&](int i, int j, Floats value) {
              store(pixel[i * kEdge + j] + first * kPanel + c, value);
            });
      }
    }
  }
};

/// Calls use(convolution) with the one that computes `conv`, or its gradient by the input.
template <Direction direction, class Use>
auto with_convolution(const Conv3x3& conv, Use use) {
  const Images input{conv.height, conv.width, conv.in};
  const Images output{conv.out_height(), conv.out_width(), conv.out};
  if constexpr (direction == Direction::kForward) {
    return conv.stride == 1 ? use(Convolution<Stride1, direction>(conv.images, input, output))
                            : use(Convolution<Stride2, direction>(conv.images, input, output));
  } else {
    return conv.stride == 1
               ? use(Convolution<Stride1, direction>(conv.images, output, input))
               : use(Convolution<Stride2Gradient, direction>(conv.images, output, input));
  }
}

}  // namespace

std::size_t forward_workspace(const Conv3x3& conv) {
  return with_convolution<Direction::kForward>(
      conv, [](const auto& convolution) { return std::size_t(convolution.floats()); });
}

std::size_t input_grad_workspace(const Conv3x3& conv) {
  return with_convolution<Direction::kBackward>(
      conv, [](const auto& convolution) { return std::size_t(convolution.floats()); });
}

void forward(const Conv3x3& conv, const float* input, const float* weights, float* output,
             const Workspace& workspace) {
  with_convolution<Direction::kForward>(
      conv, [&](const auto& convolution) { convolution.run(input, weights, output, workspace); });
}

void input_grad(const Conv3x3& conv, const float* grad_output, const float* weights,
                float* grad_input, const Workspace& workspace) {
  with_convolution<Direction::kBackward>(conv, [&](const auto& convolution) {
    convolution.run(grad_output, weights, grad_input, workspace);
  });
}

}  // namespace lockstep::nets::kernels
