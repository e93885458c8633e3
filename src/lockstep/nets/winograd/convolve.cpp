#include "lockstep/nets/winograd/conv3x3.h"
#include "lockstep/nets/winograd/tiles.h"
#include "lockstep/nets/winograd/weights.h"

namespace lockstep::nets::winograd {
namespace {

/// Which weights a product takes: those of the layer, or turned and transposed for the gradient.
enum class Direction { kForward, kBackward };

/// How a convolution is cut so that what is used together stays in a cache. Tiles are taken in
/// blocks; for each block and each group of output panels there are 36 matrix products.
struct Plan {
  Images from, to;
  std::int64_t block;   ///< Tiles in a block.
  std::int64_t panels;  ///< Output panels in a group.

  std::int64_t groups() const { return (to.channels / kPanel + panels - 1) / panels; }
  std::int64_t zeros() const { return from.channels; }
  std::int64_t waste() const { return to.channels; }
  std::int64_t floats() const {
    return zeros() + waste() + Points::floats(block, from.channels) +
           Points::floats(block, panels * kPanel) + Points::floats(from.channels, panels * kPanel);
  }
};

std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}

Plan plan(const Conv3x3& conv, Direction direction) {
  const bool forward = direction == Direction::kForward;
  Plan result{.from = {conv.images, conv.height, conv.width, forward ? conv.in : conv.out},
              .to = {conv.images, conv.height, conv.width, forward ? conv.out : conv.in},
              .block = 0,
              .panels = 0};
  // Transformed weights are 4 times the weights. Up to 10 MB they are made once and each block
  // of tiles, which fits the L2 cache or nearly, reads them from the L3 cache. Larger ones would
  // have to come from memory: they are made group by group, for a block with as many tiles as there
  // are.
  constexpr std::int64_t kManyWeights = 256 * 256;
  const bool many = result.from.channels * result.to.channels > kManyWeights;
  result.block = smaller(many ? 192 : result.from.channels <= 64 ? 48 : 96, result.from.tiles());
  result.panels = smaller(many ? 4 : result.to.channels / kPanel, result.to.channels / kPanel);
  return result;
}

/// Row `row` of the products back to a tile of output pixels, panels `first`.. of them.
void tile_from_points(const Points& products, std::int64_t row, std::int64_t panels,
                      float* const (&pixel)[kTile * kTile], std::int64_t channel) {
  const std::int64_t stride = Points::stride(products.rows, products.channels);
  for (std::int64_t c = 0; c < panels * kPanel; c += kLanes) {
    const float* from = products.panel(0, c / kPanel) + row * kPanel + c % kPanel;
    transform_square<kEdge, kTile>(
        [](const auto& column, auto& to) { points_to_output(column, to); },
        [&](int i, int j) { return load(from + (i * kEdge + j) * stride); },
        [&](int i, int j, Floats value) { store(pixel[i * kTile + j] + channel + c, value); });
  }
}

/// Every thread runs this; the `omp for` loops share the work and wait for each other at their
/// ends.
void convolve_share(const Plan& plan, Direction direction, const float* input, const float* weights,
                    float* output, float* floats) {
  float* zeros = floats;
  float* waste = zeros + plan.zeros();
  const Points tiles{waste + plan.waste(), plan.block, plan.from.channels};
  const Points filters{tiles.data + Points::floats(tiles.rows, tiles.channels), plan.from.channels,
                       plan.panels * kPanel};
  const Points products{filters.data + Points::floats(filters.rows, filters.channels), plan.block,
                        plan.panels * kPanel};
  const std::int64_t depth = plan.from.channels / kPanel;

#pragma omp single
  for (std::int64_t c = 0; c < plan.zeros(); ++c) zeros[c] = 0;

  for (std::int64_t tile = 0; tile < plan.from.tiles(); tile += plan.block) {
    const std::int64_t rows = smaller(plan.block, plan.from.tiles() - tile);
#pragma omp for schedule(static)
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* pixel[kPoints];
      plan.from.pixels<kEdge, const float>(input, tile + row, 1, zeros, pixel);
      tile_to_points<kEdge>([](const auto& from, auto& to) { input_to_points(from, to); }, pixel,
                            tiles, row);
    }
    for (std::int64_t group = 0; group < plan.groups(); ++group) {
      const std::int64_t first = group * plan.panels;
      const std::int64_t panels = smaller(plan.panels, plan.to.channels / kPanel - first);
      if (tile == 0 || plan.groups() > 1) {
#pragma omp for collapse(2) schedule(static)
        for (std::int64_t panel = 0; panel < panels; ++panel) {
          for (std::int64_t c = 0; c < plan.from.channels; c += kLanes) {
            const std::int64_t k = (first + panel) * kPanel;
            if (direction == Direction::kForward) {
              weights_to_points(weights, plan.from.channels, k, c, filters, panel);
            } else {
              turned_weights_to_points(weights, plan.to.channels, c, k, filters, panel);
            }
          }
        }
      }
#pragma omp for collapse(2) schedule(static)
      for (int point = 0; point < kPoints; ++point) {
        for (std::int64_t panel = 0; panel < panels; ++panel) {
          multiply(rows, tiles.panel(point, 0), tiles.rows * kPanel, depth,
                   filters.panel(point, panel), products.panel(point, panel));
        }
      }
#pragma omp for schedule(static)
      for (std::int64_t row = 0; row < rows; ++row) {
        float* pixel[kTile * kTile];
        plan.to.pixels<kTile, float>(output, tile + row, 0, waste, pixel);
        tile_from_points(products, row, panels, pixel, first * kPanel);
      }
    }
  }
}

void convolve(const Plan& plan, Direction direction, const float* input, const float* weights,
              float* output, const Workspace& workspace) {
#pragma omp parallel num_threads(workspace.threads) if (workspace.threads > 1)
  convolve_share(plan, direction, input, weights, output, workspace.floats);
}

}  // namespace

std::size_t forward_workspace(const Conv3x3& conv) {
  return static_cast<std::size_t>(plan(conv, Direction::kForward).floats());
}

std::size_t input_grad_workspace(const Conv3x3& conv) {
  return static_cast<std::size_t>(plan(conv, Direction::kBackward).floats());
}

void forward(const Conv3x3& conv, const float* input, const float* weights, float* output,
             const Workspace& workspace) {
  convolve(plan(conv, Direction::kForward), Direction::kForward, input, weights, output, workspace);
}

void input_grad(const Conv3x3& conv, const float* grad_output, const float* weights,
                float* grad_input, const Workspace& workspace) {
  convolve(plan(conv, Direction::kBackward), Direction::kBackward, grad_output, weights, grad_input,
           workspace);
}

}  // namespace lockstep::nets::winograd
