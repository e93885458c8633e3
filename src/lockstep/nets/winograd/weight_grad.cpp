#include "lockstep/nets/winograd/conv3x3.h"
#include "lockstep/nets/winograd/tiles.h"
#include "lockstep/nets/winograd/weights.h"

namespace lockstep::nets::winograd {
namespace {

std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}

/// How the work is cut: tiles in blocks, and for each block squares of input x output channels,
/// each of which is 36 matrix products summed over the tiles of the block.
struct Plan {
  Images input, output;
  std::int64_t block;  ///< Tiles in a block.
  bool once;           ///< One block holds all tiles: no sums have to be kept between blocks.

  static constexpr std::int64_t kSquare = 64;  ///< Channels along an edge of a square.

  std::int64_t zeros() const {
    return input.channels > output.channels ? input.channels : output.channels;
  }
  std::int64_t sum_floats() const {
    return once ? Points::floats(kSquare, kSquare)
                : Points::floats(input.channels, output.channels);
  }
  std::int64_t floats() const {
    return zeros() + Points::floats(block, input.channels) +
           Points::floats(block, output.channels) + sum_floats();
  }
};

Plan plan(const Conv3x3& conv) {
  Plan result{.input = {conv.images, conv.height, conv.width, conv.in},
              .output = {conv.images, conv.height, conv.width, conv.out},
              .block = 0,
              .once = false};
  constexpr std::int64_t kBlock = 128;
  result.block = smaller(kBlock, result.input.tiles());
  result.once = result.block == result.input.tiles();
  return result;
}

struct Work {
  const Plan& plan;
  Points inputs, grads, sums;
  float* grad_weights;
};

/// The products of channels c.. x k.., over `rows` tiles. Every thread runs this.
void add_square(const Work& work, std::int64_t c, std::int64_t k, std::int64_t rows, bool first) {
  const std::int64_t down = smaller(Plan::kSquare, work.plan.input.channels - c) / kPanel;
  const std::int64_t across = smaller(Plan::kSquare, work.plan.output.channels - k) / kPanel;
  const std::int64_t sum_row = work.plan.once ? 0 : c;
  const std::int64_t sum_panel = work.plan.once ? 0 : k / kPanel;
#pragma omp for collapse(2) schedule(static)
  for (int point = 0; point < kPoints; ++point) {
    for (std::int64_t i = 0; i < down; ++i) {
      for (std::int64_t j = 0; j < across; ++j) {
        multiply_transposed(
            rows, work.inputs.panel(point, c / kPanel + i), work.grads.panel(point, k / kPanel + j),
            work.sums.panel(point, sum_panel + j) + (sum_row + i * kPanel) * kPanel, !first);
      }
    }
  }
}

/// The finished sums of channels c.. x k.. to gradients of weights. Every thread runs this.
void finish_square(const Work& work, std::int64_t c, std::int64_t k) {
  const std::int64_t down = smaller(Plan::kSquare, work.plan.input.channels - c);
  const std::int64_t across = smaller(Plan::kSquare, work.plan.output.channels - k);
  const std::int64_t sum_row = work.plan.once ? 0 : c;
  const std::int64_t sum_panel = work.plan.once ? 0 : k / kPanel;
#pragma omp for collapse(2) schedule(static)
  for (std::int64_t j = 0; j < across / kPanel; ++j) {
    for (std::int64_t i = 0; i < down; i += kLanes) {
      points_to_weights(work.sums, sum_panel + j, sum_row + i, work.grad_weights,
                        work.plan.input.channels, k + j * kPanel, c + i);
    }
  }
}

void weight_grad_share(const Plan& plan, const float* input, const float* grad_output,
                       float* grad_weights, float* floats) {
  float* zeros = floats;
  const Points inputs{zeros + plan.zeros(), plan.block, plan.input.channels};
  const Points grads{inputs.data + Points::floats(inputs.rows, inputs.channels), plan.block,
                     plan.output.channels};
  const Points sums{grads.data + Points::floats(grads.rows, grads.channels),
                    plan.once ? Plan::kSquare : plan.input.channels,
                    plan.once ? Plan::kSquare : plan.output.channels};
  const Work work{plan, inputs, grads, sums, grad_weights};

#pragma omp single
  for (std::int64_t c = 0; c < plan.zeros(); ++c) zeros[c] = 0;

  for (std::int64_t tile = 0; tile < plan.input.tiles(); tile += plan.block) {
    const std::int64_t rows = smaller(plan.block, plan.input.tiles() - tile);
    const bool last = tile + rows == plan.input.tiles();
#pragma omp for schedule(static)
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* pixel[kPoints];
      plan.input.pixels<kEdge, const float>(input, tile + row, 1, zeros, pixel);
      tile_to_points<kEdge>([](const auto& from, auto& to) { input_to_points(from, to); }, pixel,
                            inputs, row);
      const float* grad[kTile * kTile];
      plan.output.pixels<kTile, const float>(grad_output, tile + row, 0, zeros, grad);
      tile_to_points<kTile>([](const auto& from, auto& to) { output_to_points(from, to); }, grad,
                            grads, row);
    }
    for (std::int64_t c = 0; c < plan.input.channels; c += Plan::kSquare) {
      for (std::int64_t k = 0; k < plan.output.channels; k += Plan::kSquare) {
        add_square(work, c, k, rows, tile == 0);
        if (last) finish_square(work, c, k);
      }
    }
  }
}

}  // namespace

std::size_t weight_grad_workspace(const Conv3x3& conv) {
  return static_cast<std::size_t>(plan(conv).floats());
}

void weight_grad(const Conv3x3& conv, const float* input, const float* grad_output,
                 float* grad_weights, const Workspace& workspace) {
  const Plan cut = plan(conv);
#pragma omp parallel num_threads(workspace.threads) if (workspace.threads > 1)
  weight_grad_share(cut, input, grad_output, grad_weights, workspace.floats);
}

}  // namespace lockstep::nets::winograd
