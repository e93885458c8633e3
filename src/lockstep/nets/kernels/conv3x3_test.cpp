#include "lockstep/nets/kernels/conv3x3.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "lockstep/nets/kernels/cpu.h"

namespace lockstep::nets::kernels {
namespace {

// Winograd's transforms add and subtract values larger than the result, which costs about one
// decimal digit against a direct convolution in float (1.2e-6 measured against 2e-7, both relative
// to the root mean square of the result). A wrong tap, edge or sign shows as 1e-2 or more.
constexpr double kTolerance = 5e-6;

std::vector<float> noise(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

/// Root mean square of the difference over that of the reference.
double relative_error(const std::vector<float>& got, const std::vector<double>& reference) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    difference += (got[i] - reference[i]) * (got[i] - reference[i]);
    size += reference[i] * reference[i];
  }
  return std::sqrt(difference / size);
}

struct Buffer {
  explicit Buffer(std::size_t floats)
      : data(static_cast<float*>(std::aligned_alloc(64, (floats * sizeof(float) + 63) / 64 * 64)),
             std::free) {
    // What was in the workspace before must not matter: all bits set are NaNs.
    std::memset(data.get(), 0xff, floats * sizeof(float));
  }
  std::unique_ptr<float, void (*)(void*)> data;
};

/// Calls visit(input index, weight index, output index) for every multiplication of the
/// convolution.
template <class Visit>
void for_each_product(const Conv3x3& conv, Visit visit) {
  for (std::int64_t n = 0; n < conv.images; ++n) {
    for (std::int64_t y = 0; y < conv.out_height(); ++y) {
      for (std::int64_t x = 0; x < conv.out_width(); ++x) {
        for (int tap = 0; tap < 9; ++tap) {
          const std::int64_t from_y = y * conv.stride + tap / 3 - 1;
          const std::int64_t from_x = x * conv.stride + tap % 3 - 1;
          if (from_y < 0 || from_y >= conv.height || from_x < 0 || from_x >= conv.width) continue;
          const auto in = ((n * conv.height + from_y) * conv.width + from_x) * conv.in;
          const auto out = ((n * conv.out_height() + y) * conv.out_width() + x) * conv.out;
          for (std::int64_t k = 0; k < conv.out; ++k) {
            for (std::int64_t c = 0; c < conv.in; ++c) {
              visit(in + c, (k * conv.in + c) * 9 + tap, out + k);
            }
          }
        }
      }
    }
  }
}

class Conv3x3Shapes : public ::testing::TestWithParam<Conv3x3> {
 protected:
  const Conv3x3 conv = GetParam();
  const std::size_t pixels = static_cast<std::size_t>(conv.images * conv.height * conv.width);
  const std::size_t out_pixels =
      static_cast<std::size_t>(conv.images * conv.out_height() * conv.out_width());
  const std::vector<float> input = noise(pixels * static_cast<std::size_t>(conv.in), 1);
  const std::vector<float> weights = noise(static_cast<std::size_t>(conv.in * conv.out * 9), 2);
  const std::vector<float> grad = noise(out_pixels * static_cast<std::size_t>(conv.out), 3);

  void SetUp() override {
    if (!cpu_supported())
      GTEST_SKIP() << "this CPU lacks what the kernels need, and they are not used";
  }

  std::vector<float> run(const ConvPass& pass, const std::vector<float>& first,
                         const std::vector<float>& second, std::size_t size, int threads) const {
    std::vector<float> result(size);
    const Buffer buffer(pass.workspace(conv, threads));
    pass.run(conv, first.data(), second.data(), result.data(), {buffer.data.get(), threads});
    return result;
  }
  std::vector<float> run_forward(int threads, int lanes = cpu_lanes()) const {
    return run(conv_kernels(lanes).forward, input, weights, grad.size(), threads);
  }
  std::vector<float> run_input_grad(int threads, int lanes = cpu_lanes()) const {
    return run(conv_kernels(lanes).input_grad, grad, weights, input.size(), threads);
  }
  std::vector<float> run_weight_grad(int threads, int lanes = cpu_lanes()) const {
    return run(conv_kernels(lanes).weight_grad, input, grad, weights.size(), threads);
  }
};

TEST_P(Conv3x3Shapes, ForwardMatchesDirectSumInDouble) {
  std::vector<double> reference(grad.size());
  for_each_product(conv, [&](auto in, auto tap, auto out) {
    reference[out] += double{input[in]} * double{weights[tap]};
  });
  EXPECT_LT(relative_error(run_forward(1), reference), kTolerance);
}

TEST_P(Conv3x3Shapes, InputGradMatchesDirectSumInDouble) {
  std::vector<double> reference(input.size());
  for_each_product(conv, [&](auto in, auto tap, auto out) {
    reference[in] += double{grad[out]} * double{weights[tap]};
  });
  EXPECT_LT(relative_error(run_input_grad(1), reference), kTolerance);
}

TEST_P(Conv3x3Shapes, WeightGradMatchesDirectSumInDouble) {
  std::vector<double> reference(weights.size());
  for_each_product(conv, [&](auto in, auto tap, auto out) {
    reference[tap] += double{input[in]} * double{grad[out]};
  });
  EXPECT_LT(relative_error(run_weight_grad(1), reference), kTolerance);
}

TEST_P(Conv3x3Shapes, VectorsOfSixteenFloatsGiveTheSameBitsAsThoseOfEight) {
  if (cpu_lanes() < 16) GTEST_SKIP() << "this CPU has no AVX-512";
  EXPECT_EQ(run_forward(1, 16), run_forward(1, 8));
  EXPECT_EQ(run_input_grad(1, 16), run_input_grad(1, 8));
  EXPECT_EQ(run_weight_grad(1, 16), run_weight_grad(1, 8));
}

std::string name_of(const ::testing::TestParamInfo<Conv3x3>& info) {
  const Conv3x3& c = info.param;
  return std::to_string(c.images) + "x" + std::to_string(c.height) + "x" + std::to_string(c.width) +
         "_" + std::to_string(c.in) + "_to_" + std::to_string(c.out) + "_stride" +
         std::to_string(c.stride);
}

// Sizes that are and are not multiples of a tile; one image and more tiles than a block; channels
// below, at and above the panels of a group and the squares of the weight gradient.
INSTANTIATE_TEST_SUITE_P(
    Shapes, Conv3x3Shapes,
    ::testing::Values(
        Conv3x3{1, 4, 4, 16, 16}, Conv3x3{1, 1, 1, 16, 16}, Conv3x3{2, 3, 5, 16, 32},
        Conv3x3{3, 7, 6, 32, 16}, Conv3x3{1, 13, 17, 48, 16}, Conv3x3{2, 32, 32, 16, 16},
        Conv3x3{3, 30, 33, 16, 48}, Conv3x3{2, 8, 8, 80, 112}, Conv3x3{5, 16, 16, 32, 32},
        Conv3x3{1, 2, 9, 144, 80}, Conv3x3{1, 4, 4, 512, 512}, Conv3x3{2, 5, 4, 272, 256},
        Conv3x3{200, 4, 4, 16, 16}, Conv3x3{1, 64, 64, 16, 32}, Conv3x3{1, 8, 8, 16, 16, 2},
        Conv3x3{1, 1, 1, 16, 16, 2}, Conv3x3{2, 2, 3, 16, 32, 2}, Conv3x3{3, 7, 6, 32, 16, 2},
        Conv3x3{1, 13, 17, 48, 16, 2}, Conv3x3{2, 32, 32, 16, 48, 2}, Conv3x3{3, 30, 33, 16, 32, 2},
        Conv3x3{2, 16, 16, 80, 112, 2}, Conv3x3{1, 8, 8, 256, 512, 2},
        Conv3x3{200, 4, 4, 16, 16, 2}),
    name_of);

// Few and small shapes, and more threads than this host may have cores: waiting threads spin.
using Conv3x3Threads = Conv3x3Shapes;

TEST_P(Conv3x3Threads, ResultsAreTheSameBitsWithAnyThreadCount) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "GCC's OpenMP library is not instrumented: its barriers look like races";
#endif
  for (const int threads : {2, 3}) {
    EXPECT_EQ(run_forward(threads), run_forward(1));
    EXPECT_EQ(run_input_grad(threads), run_input_grad(1));
    EXPECT_EQ(run_weight_grad(threads), run_weight_grad(1));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Conv3x3Threads,
                         ::testing::Values(Conv3x3{3, 30, 33, 16, 48}, Conv3x3{2, 5, 4, 272, 256},
                                           Conv3x3{5, 16, 17, 32, 16, 2}),
                         name_of);

}  // namespace
}  // namespace lockstep::nets::kernels
