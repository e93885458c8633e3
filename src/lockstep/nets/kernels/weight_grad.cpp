#include "lockstep/nets/kernels/conv3x3.h"
#include "lockstep/nets/kernels/stride1.h"
#include "lockstep/nets/kernels/stride2.h"
#include "lockstep/nets/kernels/tiles.h"
#include "lockstep/nets/kernels/weights.h"

namespace lockstep::nets::kernels {
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
  std::int64_t block;  ///< Tiles in a block.
  bool once;           ///< One block has all tiles: no sums have to be kept between blocks.

  explicit WeightGrad(const Conv3x3& conv)
      : grid{conv.images, (conv.out_height() + Scheme::kResult - 1) / Scheme::kResult,
             (conv.out_width() + Scheme::kResult - 1) / Scheme::kResult},
        input{conv.height, conv.width, conv.in},
        output{conv.out_height(), conv.out_width(), conv.out} {
    constexpr std::int64_t kBlock = 128;
    block = smaller(kBlock, grid.tiles());
    once = block == grid.tiles();
  }

  std::int64_t zero_floats() const {
    return input.channels > output.channels ? input.channels : output.channels;
  }
  std::int64_t input_floats() const { return kPoints * Points::stride(block, input.channels); }
  std::int64_t grad_floats() const { return kPoints * Points::stride(block, output.channels); }
  std::int64_t floats() const {
    const std::int64_t sums =
        once ? Points::stride(kSquare, kSquare) : Points::stride(input.channels, output.channels);
    return zero_floats() + input_floats() + grad_floats() + kFilters * sums;
  }

  void run(const float* images, const float* grad_output, float* grad_weights,
           const Workspace& workspace) const {
#pragma omp parallel num_threads(workspace.threads) if (workspace.threads > 1)
    share(images, grad_output, grad_weights, workspace.floats);
  }

 private:
  /// Channels of one square, and where its sums are kept.
  struct Square {
    std::int64_t c, k;          ///< First input and output channel.
    std::int64_t down, across;  ///< Panels of input and output channels.
    std::int64_t row, panel;    ///< Of the sums.
  };

  Square square(std::int64_t c, std::int64_t k) const {
    return {c,
            k,
            smaller(kSquare, input.channels - c) / kPanel,
            smaller(kSquare, output.channels - k) / kPanel,
            once ? 0 : c,
            once ? 0 : k / kPanel};
  }

  /// Every thread runs this; the `omp for` loops in the functions it calls share the work, and
  /// threads wait for each other at the ends of these loops.
  void share(const float* images, const float* grad_output, float* grad_weights,
             float* floats) const {
    float* zeros = floats;
    const Points inputs{zeros + zero_floats(), block, input.channels};
    const Points grads{inputs.data + input_floats(), block, output.channels};
    const Points sums{grads.data + grad_floats(), once ? kSquare : input.channels,
                      once ? kSquare : output.channels};
#pragma omp single
    for (std::int64_t c = 0; c < zero_floats(); ++c) zeros[c] = 0;

    for (std::int64_t tile = 0; tile < grid.tiles(); tile += block) {
      const std::int64_t rows = smaller(block, grid.tiles() - tile);
      transform_tiles(images, grad_output, tile, rows, zeros, inputs, grads);
      for (std::int64_t c = 0; c < input.channels; c += kSquare) {
        for (std::int64_t k = 0; k < output.channels; k += kSquare) {
          multiply_square(square(c, k), inputs, grads, rows, tile == 0, sums);
          if (tile + rows == grid.tiles()) finish_square(square(c, k), sums, grad_weights);
        }
      }
    }
  }

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

  /// Points that share a filter add to one sum, so a thread takes filters, not points.
  void multiply_square(const Square& at, const Points& inputs, const Points& grads,
                       std::int64_t rows, bool fresh, const Points& sums) const {
#pragma omp for collapse(2) schedule(static)
    for (int filter = 0; filter < kFilters; ++filter) {
      for (std::int64_t i = 0; i < at.down; ++i) {
        bool add = !fresh;
        for (int point = 0; point < kPoints; ++point) {
          if (filter_of(point) != filter) continue;
          for (std::int64_t j = 0; j < at.across; ++j) {
            multiply_transposed(
                rows, inputs.panel(point, at.c / kPanel + i), grads.panel(point, at.k / kPanel + j),
                sums.panel(filter, at.panel + j) + (at.row + i * kPanel) * kPanel, add);
          }
          add = true;
        }
      }
    }
  }

  static constexpr int filter_of(int point) {
    return Scheme::filter_point(point / Scheme::kPoints) * Scheme::kFilterPoints +
           Scheme::filter_point(point % Scheme::kPoints);
  }

  /// The finished sums to gradients of weights.
  void finish_square(const Square& at, const Points& sums, float* grad_weights) const {
#pragma omp for collapse(2) schedule(static)
    for (std::int64_t j = 0; j < at.across; ++j) {
      for (std::int64_t i = 0; i < at.down * kPanel; i += kLanes) {
        points_to_weights<Scheme>(sums, at.panel + j, at.row + i, grad_weights, input.channels,
                                  at.k + j * kPanel, at.c + i);
      }
    }
  }
};

}  // namespace

std::size_t weight_grad_workspace(const Conv3x3& conv) {
  return static_cast<std::size_t>(conv.stride == 1 ? WeightGrad<Stride1>(conv).floats()
                                                   : WeightGrad<Stride2>(conv).floats());
}

void weight_grad(const Conv3x3& conv, const float* input, const float* grad_output,
                 float* grad_weights, const Workspace& workspace) {
  if (conv.stride == 1) {
    WeightGrad<Stride1>(conv).run(input, grad_output, grad_weights, workspace);
  } else {
    WeightGrad<Stride2>(conv).run(input, grad_output, grad_weights, workspace);
  }
}

}  // namespace lockstep::nets::kernels
