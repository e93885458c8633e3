#include "lockstep/nets/layers/winograd_conv.h"

#include <gtest/gtest.h>

#include <vector>

#include "lockstep/nets/kernels/cpu.h"

namespace lockstep::nets {
namespace {

using torch::Tensor;

constexpr auto kChannelsLast = torch::MemoryFormat::ChannelsLast;

// Relative to the root mean square of the conv_reference. Winograd's sums pass through values
// several times the result: 1.2e-6 measured, against 2e-7 of ATen's direct convolution.
constexpr double kTolerance = 5e-6;

double relative_error(const Tensor& got, const Tensor& conv_reference) {
  return ((got.to(torch::kDouble) - conv_reference).norm() / conv_reference.norm()).item<double>();
}

struct Result {
  Tensor output, grad_input, grad_weight;
};

template <class Convolve>
Result run(Tensor input, Tensor weight, const Tensor& grad, Convolve convolve) {
  input = input.detach().requires_grad_();
  weight = weight.detach().requires_grad_();
  const auto output = convolve(input, weight);
  const auto grads = torch::autograd::grad({output}, {input, weight}, {grad});
  return {output.detach(), grads[0], grads[1]};
}

Result conv_reference(const Tensor& input, const Tensor& weight, const Tensor& grad, int stride) {
  return run(input.to(torch::kDouble), weight.to(torch::kDouble), grad.to(torch::kDouble),
             [=](const Tensor& x, const Tensor& w) { return torch::conv2d(x, w, {}, stride, 1); });
}

struct Shape {
  std::int64_t images, in, out, height, width;
  int stride;
};

TEST(WinogradConv, MatchesAtenAndItsGradientsInDouble) {
  torch::manual_seed(1);
  for (const auto& s :
       {Shape{2, 64, 64, 32, 32, 1}, Shape{2, 64, 128, 32, 32, 2}, Shape{8, 16, 48, 9, 14, 1},
        Shape{9, 32, 16, 15, 16, 2}, Shape{8, 512, 512, 4, 4, 1}}) {
    const auto input = torch::randn({s.images, s.in, s.height, s.width}).contiguous(kChannelsLast);
    const auto weight = torch::randn({s.out, s.in, 3, 3});
    const auto grad = torch::randn({s.images, s.out, (s.height + s.stride - 1) / s.stride,
                                    (s.width + s.stride - 1) / s.stride});
    EXPECT_EQ(winograd_pays(input, weight, s.stride), kernels::cpu_supported());
    const auto ours = run(input, weight, grad, [&](const Tensor& x, const Tensor& w) {
      return conv3x3(x, w, s.stride);
    });
    const auto expected = conv_reference(input, weight, grad, s.stride);
    EXPECT_LT(relative_error(ours.output, expected.output), kTolerance);
    EXPECT_LT(relative_error(ours.grad_input, expected.grad_input), kTolerance);
    EXPECT_LT(relative_error(ours.grad_weight, expected.grad_weight), kTolerance);
  }
}

TEST(WinogradConv, TakesAnyMemoryFormat) {
  const auto input = torch::randn({3, 32, 12, 12});
  const auto weight = torch::randn({16, 32, 3, 3});
  const auto plain = conv3x3(input, weight);
  EXPECT_TRUE(torch::equal(
      plain, conv3x3(input.contiguous(kChannelsLast), weight.contiguous(kChannelsLast))));
  EXPECT_TRUE(torch::equal(
      plain, conv3x3(input.transpose(2, 3).contiguous().transpose(2, 3),
                     weight.permute({1, 0, 2, 3}).contiguous().permute({1, 0, 2, 3}))));
}

TEST(WinogradConv, LeavesToAtenWhatItCannotDo) {
  const auto weight = torch::randn({16, 16, 3, 3});
  const auto input = torch::randn({8, 16, 8, 8});
  EXPECT_FALSE(winograd_pays(input.to(torch::kDouble), weight.to(torch::kDouble), 1));
  EXPECT_FALSE(winograd_pays(input, torch::randn({24, 16, 3, 3}), 1));
  EXPECT_FALSE(winograd_pays(torch::randn({8, 3, 8, 8}), torch::randn({16, 3, 3, 3}), 1));
  EXPECT_FALSE(winograd_pays(input, torch::randn({16, 16, 1, 1}), 1));
  EXPECT_FALSE(winograd_pays(input, weight, 3));
  EXPECT_FALSE(winograd_pays(torch::randn({8, 16, 1, 1}), weight, 1));
  EXPECT_FALSE(winograd_pays(torch::randn({1, 16, 4, 4}), weight, 1));
  EXPECT_FALSE(winograd_pays(torch::randn({0, 16, 8, 8}), weight, 1));
  for (const auto& [channels, stride] : {std::pair{3, 1}, std::pair{20, 2}, std::pair{16, 3}}) {
    const auto x = torch::randn({2, channels, 9, 9}), w = torch::randn({8, channels, 3, 3});
    EXPECT_TRUE(torch::allclose(conv3x3(x, w, stride), torch::conv2d(x, w, {}, stride, 1)));
  }
}

TEST(WinogradConv, ReportsChannelsThatDoNotMatchAsAtenDoes) {
  EXPECT_THROW(conv3x3(torch::randn({8, 32, 8, 8}), torch::randn({16, 16, 3, 3})), c10::Error);
}

TEST(WinogradConv, GivesTheSameBitsOnAnyNumberOfThreads) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "GCC's OpenMP library is not instrumented: its barriers look like races";
#endif
  const auto input = torch::randn({4, 64, 16, 16}).contiguous(kChannelsLast);
  const auto weight = torch::randn({64, 64, 3, 3});
  const auto grad = torch::randn({4, 64, 16, 16}).contiguous(kChannelsLast);
  const auto convolve = [](const Tensor& x, const Tensor& w) { return conv3x3(x, w); };
  const int before = torch::get_num_threads();
  torch::set_num_threads(1);
  const auto one = run(input, weight, grad, convolve);
  torch::set_num_threads(3);
  const auto three = run(input, weight, grad, convolve);
  torch::set_num_threads(before);
  EXPECT_TRUE(torch::equal(one.output, three.output));
  EXPECT_TRUE(torch::equal(one.grad_input, three.grad_input));
  EXPECT_TRUE(torch::equal(one.grad_weight, three.grad_weight));
}

}  // namespace
}  // namespace lockstep::nets
