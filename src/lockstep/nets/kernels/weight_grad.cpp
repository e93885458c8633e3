#include <omp.h>

#include "lockstep/nets/kernels/conv3x3.h"
#include "lockstep/nets/kernels/stride1.h"
#include "lockstep/nets/kernels/stride2.h"
#include "lockstep/nets/kernels/tiles.h"
#include "lockstep/nets/kernels/weights.h"

namespace lockstep::nets::kernels::LOCKSTEP_LANES {
namespace {

/// The gradient by the weights, cut into blocks of tiles, and for each block into squares of input
/// x output channels, each of which is a matrix product for every point, summed over the tiles.
template <class Scheme>
struct WeightGrad {
  static constexpr int kPoints = Scheme::kPoints * Scheme::kPoints;
  static constexpr int kFilters = Scheme::kFilterPoints * Scheme::kFilterPoints;
  static constexpr std::int64_t kSquare = 64;  ///< Channels along an edge of a square.

  Grid grid;
  Images input, output;
  std::int64_t threads;
  std::int64_t block;  ///< Tiles in a block.
  std::int64_t squares_down, squares_across;
  bool once;  ///< One block has all tiles, and each thread squares of its own: no sums are kept.

  WeightGrad(const Conv3x3& conv, int thread_count)
      : grid{conv.images, (conv.out_height() + Scheme::kResult - 1) / Scheme::kResult,
             (conv.out_width() + Scheme::kResult - 1) / Scheme::kResult},
        input{conv.height, conv.width, conv.in},
        output{conv.out_height(), conv.out_width(), conv.out},
        threads(thread_count),
        block(smaller(128, grid.tiles())),
        squares_down((conv.in + kSquare - 1) / kSquare),
        squares_across((conv.out + kSquare - 1) / kSquare),
        once(block == grid.tiles() && squares() >= threads) {}

  std::int64_t floats() const {
    const std::int64_t sums =
        once ? threads * own_sums() : kFilters * Points::stride(input.channels, output.channels);
    return zero_floats() + input_floats() + grad_floats() + sums;
  }

  void run(const float* images, const float* grad_output, float* grad_weights,
           float* floats) const {
#pragma omp parallel num_threads(threads) if (threads > 1)
    share(images, grad_output, grad_weights, floats);
  }

 private:
  std::int64_t squares() const {
    return squares_down * squares_across;
  }
  std::int64_t zero_floats() const {
    return input.channels > output.channels ? input.channels : output.channels;
  }
  std::int64_t input_floats() const {
    return kPoints * Points::stride(block, input.channels);
  }
  std::int64_t grad_floats() const {
    return kPoints * Points::stride(block, output.channels);
  }
  static std::int64_t own_sums() {
    return kFilters * Points::stride(kSquare, kSquare);
  }

  /// Channels of one square, and where its sums are kept.
  struct Square {
    std::int64_t c, k;          ///< First input and output channel.
    std::int64_t down, across;  ///< Panels of input and output channels.
    std::int64_t row, panel;    ///< Of the sums.
  };

  Square square(std::int64_t index) const {
    const std::int64_t c = index / squares_across * kSquare, k = index % squares_across * kSquare;
    return {c,
            k,
            smaller(kSquare, input.channels - c) / kPanel,
            smaller(kSquare, output.channels - k) / kPanel,
            once ? 0 : c,
            once ? 0 : k / kPanel};
  }

  /// Every thread runs this. They wait for each other at the ends of the `omp for` loops.
  void share(const float* images, const float* grad_output, float* grad_weights,
             float* floats) const {
    float* zeros = floats;
    const Points inputs{zeros + zero_floats(), block, input.channels};
    const Points grads{inputs.data + input_floats(), block, output.channels};
    float* const kept = grads.data + grad_floats();
#pragma omp single
    for (std::int64_t c = 0; c < zero_floats(); ++c) zeros[c] = 0;

    if (once) {
      const Points sums{kept + omp_get_thread_num() * own_sums(), kSquare, kSquare};
      transform_tiles(images, grad_output, 0, block, zeros, inputs, grads);
#pragma omp for schedule(static)
      for (std::int64_t index = 0; index < squares(); ++index) {
        const Square at = square(index);
        for (int filter = 0; filter < kFilters; ++filter) {
          multiply_square(at, filter, inputs, grads, block, true, sums);
        }
        finish_square(at, sums, grad_weights);
      }
      return;
    }
    const Points sums{kept, input.channels, output.channels};
    for (std::int64_t tile = 0; tile < grid.tiles(); tile += block) {
      const std::int64_t rows = smaller(block, grid.tiles() - tile);
      transform_tiles(images, grad_output, tile, rows, zeros, inputs, grads);
#pragma omp for collapse(2) schedule(static)
      for (std::int64_t index = 0; index < squares(); ++index) {
        for (int filter = 0; filter < kFilters; ++filter) {
          multiply_square(square(index), filter, inputs, grads, rows, tile == 0, sums);
        }
      }
    }
#pragma omp for schedule(static)
    for (std::int64_t index = 0; index < squares(); ++index) {
      finish_square(square(index), sums, grad_weights);
    }
  }

  /// Shared by the threads, which then wait for each other.
  void transform_tiles(const float* images, const float* grad_output, std::int64_t tile,
                       std::int64_t rows, const float* zeros, const Points& inputs,
                       const Points& grads) const {
#pragma omp for schedule(static)
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* pixel[Scheme::kSource * Scheme::kSource];
      input.pixels<Scheme::kSource, const float>(images, grid, tile + row, Scheme::kSourceStep,
                                                 Scheme::kMargin, zeros, pixel);
      tile_to_points<Scheme::kSource, Scheme::kPoints>(
          [](const auto& source, auto& points) { Scheme::source_to_points(source, points); }, pixel,
          inputs, row);
      const float* grad[Scheme::kResult * Scheme::kResult];
      output.pixels<Scheme::kResult, const float>(grad_output, grid, tile + row, Scheme::kResult, 0,
                                                  zeros, grad);
      tile_to_points<Scheme::kResult, Scheme::kPoints>(
          [](const auto& result, auto& points) { Scheme::result_to_points(result, points); }, grad,
          grads, row);
    }
  }

  /// Points that share a filter add to one sum.
  void multiply_square(const Square& at, int filter, const Points& inputs, const Points& grads,
                       std::int64_t rows, bool fresh, const Points& sums) const {
    bool add = !fresh;
    for (int point = 0; point < kPoints; ++point) {
      if (filter_of(point) != filter) continue;
      for (std::int64_t i = 0; i < at.down; ++i) {
        for (std::int64_t j = 0; j < at.across; ++j) {
          multiply_transposed(
              rows, inputs.panel(point, at.c / kPanel + i), grads.panel(point, at.k / kPanel + j),
              sums.panel(filter, at.panel + j) + (at.row + i * kPanel) * kPanel, add);
        }
      }
      add = true;
    }
  }

  static constexpr int filter_of(int point) {
    return Scheme::filter_point(point / Scheme::kPoints) * Scheme::kFilterPoints +
           Scheme::filter_point(point % Scheme::kPoints);
  }

  /// The finished sums to gradients of weights.
  void finish_square(const Square& at, const Points& sums, float* grad_weights) const {
    for (std::int64_t j = 0; j < at.across; ++j) {
      for (std::int64_t i = 0; i < at.down * kPanel; i += kEight) {
        points_to_weights<Scheme>(sums, at.panel + j, at.row + i, grad_weights, input.channels,
                                  at.k + j * kPanel, at.c + i);
      }
    }
  }
};

/// Calls use(gradient) with the one that computes `conv`.
template <class Use>
auto with_weight_grad(const Conv3x3& conv, int threads, Use use) {
  return conv.stride == 1 ? use(WeightGrad<Stride1>(conv, threads))
                          : use(WeightGrad<Stride2>(conv, threads));
}

}  // namespace

extern const ConvPass kWeightGrad;
constexpr ConvPass kWeightGrad{
    [](const Conv3x3& conv, int threads) {
      return with_weight_grad(conv, threads,
                              [](const auto& gradient) { return std::size_t(gradient.floats()); });
    },
    [](const Conv3x3& conv, const float* input, const float* grad_output, float* grad_weights,
       const Workspace& workspace) {
      with_weight_grad(conv, workspace.threads, [&](const auto& gradient) {
        gradient.run(input, grad_output, grad_weights, workspace.floats);
      });
    }};

}  // namespace lockstep::nets::kernels::LOCKSTEP_LANES
