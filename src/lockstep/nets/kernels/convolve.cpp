#include <omp.h>

#include "lockstep/nets/kernels/conv3x3.h"
#include "lockstep/nets/kernels/stride1.h"
#include "lockstep/nets/kernels/stride2.h"
#include "lockstep/nets/kernels/tiles.h"
#include "lockstep/nets/kernels/weights.h"

namespace lockstep::nets::kernels::LOCKSTEP_LANES {
namespace {

/// Which weights a product takes: those of the layer, or turned and transposed for the gradient.
enum class Direction { kForward, kBackward };

/// One convolution by a Scheme, cut so that what is used together stays in a cache, and so that a
/// thread uses what it made itself. Tiles are taken in blocks; for each block and each group of
/// output panels there is a matrix product for every point.
template <class Scheme, Direction direction>
struct Convolution {
  static constexpr int kPoints = Scheme::kPoints * Scheme::kPoints;
  static constexpr int kFilters = Scheme::kFilterPoints * Scheme::kFilterPoints;

  Grid grid;
  Images from, to;
  std::int64_t threads;
  bool many;            ///< Weights, see below.
  std::int64_t block;   ///< Tiles in a block.
  std::int64_t panels;  ///< Output panels in a group.

  Convolution(std::int64_t images, const Images& from_images, const Images& to_images,
              int thread_count)
      : grid{images, (to_images.height + Scheme::kResult - 1) / Scheme::kResult,
             (to_images.width + Scheme::kResult - 1) / Scheme::kResult},
        from(from_images),
        to(to_images),
        threads(thread_count) {
    // Transformed weights are 4 times the weights. Up to 10 MB they are made once, and each thread
    // takes blocks of tiles, which fit the L2 cache or nearly; it reads the weights from the L3
    // cache. Larger ones would have to come from memory: each thread takes groups of them, for a
    // block with as many tiles as there are.
    constexpr std::int64_t kManyWeights = 256 * 256;
    many = from.channels * to.channels > kManyWeights;
    const std::int64_t all = to.channels / kPanel;
    if (many) {
      block = smaller(192, grid.tiles());
      panels = smaller(4, parts(all, threads));
    } else {
      const std::int64_t blocks = parts(grid.tiles(), from.channels <= 64 ? 24 : 48);
      block = parts(grid.tiles(), parts(blocks, threads) * threads);
      panels = all;
    }
  }

  std::int64_t floats() const { return from.channels + shared_floats() + threads * own_floats(); }

  void run(const float* input, const float* weights, float* output, float* floats) const {
#pragma omp parallel num_threads(threads) if (threads > 1)
    share(input, weights, output, floats);
  }

 private:
  /// How many parts of at most `size` items `count` items make.
  static std::int64_t parts(std::int64_t count, std::int64_t size) {
    return (count + size - 1) / size;
  }

  std::int64_t tile_floats() const {
    return kPoints * Points::stride(block, from.channels);
  }
  std::int64_t filter_floats() const {
    return kFilters * Points::stride(from.channels, panels * kPanel);
  }
  std::int64_t product_floats() const {
    return kPoints * Points::stride(block, panels * kPanel);
  }
  std::int64_t shared_floats() const {
    return many ? tile_floats() : filter_floats();
  }
  /// Of each thread.
  std::int64_t own_floats() const {
    return to.channels + (many ? filter_floats() : tile_floats()) + product_floats();
  }

  /// Every thread runs this. They wait for each other at the ends of the `omp for` loops.
  void share(const float* input, const float* weights, float* output, float* floats) const {
    float* zeros = floats;
    float* shared = zeros + from.channels;
    float* waste = shared + shared_floats() + omp_get_thread_num() * own_floats();
    float* own = waste + to.channels;
    const Points tiles{many ? shared : own, block, from.channels};
    const Points filters{many ? own : shared, from.channels, panels * kPanel};
    const Points products{own + (many ? filter_floats() : tile_floats()), block, panels * kPanel};
#pragma omp single
    for (std::int64_t c = 0; c < from.channels; ++c) zeros[c] = 0;

    const std::int64_t all = to.channels / kPanel;
    if (many) {
      for (std::int64_t tile = 0; tile < grid.tiles(); tile += block) {
        const std::int64_t rows = smaller(block, grid.tiles() - tile);
#pragma omp for schedule(static)
        for (std::int64_t row = 0; row < rows; ++row) {
          transform_tile(input, tile + row, zeros, tiles, row);
        }
#pragma omp for schedule(static)
        for (std::int64_t first = 0; first < all; first += panels) {
          const std::int64_t count = smaller(panels, all - first);
          for (std::int64_t panel = 0; panel < count; ++panel) {
            transform_weights(weights, first + panel, filters, panel);
          }
          multiply_points(tiles, filters, products, rows, count);
          transform_products(products, tile, rows, first, count, waste, output);
        }
      }
    } else {
#pragma omp for schedule(static)
      for (std::int64_t panel = 0; panel < all; ++panel) {
        transform_weights(weights, panel, filters, panel);
      }
#pragma omp for schedule(static)
      for (std::int64_t tile = 0; tile < grid.tiles(); tile += block) {
        const std::int64_t rows = smaller(block, grid.tiles() - tile);
        for (std::int64_t row = 0; row < rows; ++row) {
          transform_tile(input, tile + row, zeros, tiles, row);
        }
        multiply_points(tiles, filters, products, rows, all);
        transform_products(products, tile, rows, 0, all, waste, output);
      }
    }
  }

  void transform_tile(const float* input, std::int64_t tile, const float* zeros,
                      const Points& tiles, std::int64_t row) const {
    const float* pixel[Scheme::kSource * Scheme::kSource];
    from.pixels<Scheme::kSource, const float>(input, grid, tile, Scheme::kSourceStep,
                                              Scheme::kMargin, zeros, pixel);
    tile_to_points<Scheme::kSource, Scheme::kPoints>(
        [](const auto& source, auto& points) { Scheme::source_to_points(source, points); }, pixel,
        tiles, row);
  }

  /// Those of output panel `from_panel` to panel `panel` of the filters.
  void transform_weights(const float* weights, std::int64_t from_panel, const Points& filters,
                         std::int64_t panel) const {
    const std::int64_t k = from_panel * kPanel;
    for (std::int64_t c = 0; c < from.channels; c += kEight) {
      if constexpr (direction == Direction::kForward) {
        weights_to_points<Scheme>(weights, from.channels, k, c, filters, panel);
      } else {
        turned_weights_to_points<Scheme>(weights, to.channels, c, k, filters, panel);
      }
    }
  }

  void multiply_points(const Points& tiles, const Points& filters, const Points& products,
                       std::int64_t rows, std::int64_t count) const {
    for (int point = 0; point < kPoints; ++point) {
      const int filter = Scheme::filter_point(point / Scheme::kPoints) * Scheme::kFilterPoints +
                         Scheme::filter_point(point % Scheme::kPoints);
      for (std::int64_t panel = 0; panel < count; ++panel) {
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
auto with_convolution(const Conv3x3& conv, int threads, Use use) {
  const Images input{conv.height, conv.width, conv.in};
  const Images output{conv.out_height(), conv.out_width(), conv.out};
  if constexpr (direction == Direction::kForward) {
    return conv.stride == 1
               ? use(Convolution<Stride1, direction>(conv.images, input, output, threads))
               : use(Convolution<Stride2, direction>(conv.images, input, output, threads));
  } else {
    return conv.stride == 1
               ? use(Convolution<Stride1, direction>(conv.images, output, input, threads))
               : use(Convolution<Stride2Gradient, direction>(conv.images, output, input, threads));
  }
}

template <Direction direction>
std::size_t convolution_workspace(const Conv3x3& conv, int threads) {
  return with_convolution<direction>(
      conv, threads, [](const auto& convolution) { return std::size_t(convolution.floats()); });
}

template <Direction direction>
void convolve(const Conv3x3& conv, const float* from, const float* weights, float* to,
              const Workspace& workspace) {
  with_convolution<direction>(conv, workspace.threads, [&](const auto& convolution) {
    convolution.run(from, weights, to, workspace.floats);
  });
}

}  // namespace

extern const ConvPass kForward, kInputGrad;
constexpr ConvPass kForward{convolution_workspace<Direction::kForward>,
                            convolve<Direction::kForward>};
constexpr ConvPass kInputGrad{convolution_workspace<Direction::kBackward>,
                              convolve<Direction::kBackward>};

}  // namespace lockstep::nets::kernels::LOCKSTEP_LANES
