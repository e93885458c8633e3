#include "lockstep/nets/kernels/batch_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <tuple>
#include <vector>

#include "lockstep/nets/kernels/cpu.h"

namespace lockstep::nets::kernels {
namespace {

std::vector<float> shifted_noise(std::size_t count, unsigned seed, float mean = 0) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(mean);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

class BatchNormKernels : public ::testing::TestWithParam<NormShape> {
 protected:
  const NormShape shape = GetParam();
  const std::size_t channels = static_cast<std::size_t>(shape.channels);
  const std::size_t size = static_cast<std::size_t>(shape.rows) * channels;
  const NormKernels& kernels = norm_kernels(shape);
  std::vector<double> workspace = std::vector<double>(kernels.workspace(shape));

  void SetUp() override {
    if (!cpu_supported())
      GTEST_SKIP() << "this CPU lacks what the kernels need, and they are not used";
  }

  /// Everything that they compute from noise.
  auto results(const NormKernels& of, int threads) {
    const auto input = shifted_noise(size, 1), grad = shifted_noise(size, 2),
               output = shifted_noise(size, 3);
    const auto mean = shifted_noise(channels, 4), scale = shifted_noise(channels, 5);
    std::vector<double> sums(channels), products(channels);
    std::vector<float> grad_input(size), masked(size), shifted(size), first(channels),
        second(channels);
    of.channel_moments(shape, input.data(), first.data(), second.data(), workspace.data(), threads);
    of.scale_shift(shape, input.data(), scale.data(), mean.data(), {output.data(), true},
                   shifted.data(), threads);
    of.grad_sums(shape, grad.data(), output.data(), input.data(), mean.data(), masked.data(),
                 sums.data(), products.data(), workspace.data(), threads);
    of.grad_input(shape, masked.data(), nullptr, input.data(), scale.data(), mean.data(),
                  first.data(), grad_input.data(), threads);
    return std::tuple{first, second, shifted, sums, products, masked, grad_input};
  }
};

TEST_P(BatchNormKernels, MomentsAreExactWhereTheMeanIsLargeAgainstTheDeviation) {
  const auto input = shifted_noise(size, 1, 100);
  std::vector<float> mean(channels), variance(channels);
  kernels.channel_moments(shape, input.data(), mean.data(), variance.data(), workspace.data(), 1);
  for (std::size_t c = 0; c < channels; ++c) {
    double sum = 0, squares = 0;
    for (std::size_t i = c; i < size; i += channels) sum += input[i];
    const double expected = sum / static_cast<double>(shape.rows);
    for (std::size_t i = c; i < size; i += channels) squares += std::pow(input[i] - expected, 2);
    EXPECT_NEAR(mean[c], expected, 1e-5);
    EXPECT_NEAR(variance[c], squares / static_cast<double>(shape.rows), 1e-5);
  }
}

TEST_P(BatchNormKernels, SumsAndElementsDoNotDependOnThreads) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "GCC's OpenMP library is not instrumented: its barriers look like races";
#endif
  EXPECT_EQ(results(kernels, 2), results(kernels, 1));
  EXPECT_EQ(results(kernels, 3), results(kernels, 1));
}

TEST_P(BatchNormKernels, VectorsOfSixteenFloatsGiveTheSameBitsAsThoseOfEight) {
  if (cpu_lanes() < 16) GTEST_SKIP() << "this CPU has no AVX-512";
  EXPECT_EQ(results(norm_kernels(shape, 16), 1), results(norm_kernels(shape, 8), 1));
}

TEST_P(BatchNormKernels, GradientSumsCountOnlyWhereTheOutputIsPositive) {
  const auto input = shifted_noise(size, 1), grad = shifted_noise(size, 2),
             output = shifted_noise(size, 3);
  const auto mean = shifted_noise(channels, 4);
  std::vector<double> sums(channels), products(channels);
  std::vector<float> masked(size);
  kernels.grad_sums(shape, grad.data(), output.data(), input.data(), mean.data(), masked.data(),
                    sums.data(), products.data(), workspace.data(), 1);
  std::vector<double> expected_sums(channels), expected_products(channels);
  for (std::size_t i = 0; i < size; ++i) {
    const double g = output[i] > 0 ? grad[i] : 0;
    EXPECT_EQ(masked[i], g);
    expected_sums[i % channels] += g;
    expected_products[i % channels] += g * (double{input[i]} - mean[i % channels]);
  }
  // Float sums over runs of 32 rows: each within a few units in the last place of values of size 1.
  const double tolerance = 1e-6 * std::sqrt(static_cast<double>(shape.rows)) + 1e-5;
  for (std::size_t c = 0; c < channels; ++c) {
    EXPECT_NEAR(sums[c], expected_sums[c], tolerance);
    EXPECT_NEAR(products[c], expected_products[c], tolerance);
  }
}

TEST_P(BatchNormKernels, NotANumberPassesTheRectifier) {
  auto input = shifted_noise(size, 1);
  input[0] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> ones(channels, 1);
  std::vector<float> output(size);
  kernels.scale_shift(shape, input.data(), ones.data(), ones.data(),
                      {.residual = nullptr, .relu = true}, output.data(), 1);
  EXPECT_TRUE(std::isnan(output[0]));
  for (std::size_t i = 1; i < size; ++i) EXPECT_GE(output[i], 0);
}

INSTANTIATE_TEST_SUITE_P(Shapes, BatchNormKernels,
                         ::testing::Values(NormShape{2, 8}, NormShape{3, 64}, NormShape{33, 24},
                                           NormShape{1000, 16}, NormShape{4096, 64},
                                           NormShape{513, 512}));

}  // namespace
}  // namespace lockstep::nets::kernels
