#include "lockstep/nets/layers/winograd_conv.h"

#include <ATen/Parallel.h>

#include "lockstep/nets/kernels/conv3x3.h"
#include "lockstep/nets/kernels/cpu.h"
#include "lockstep/nets/layers/workspace.h"

namespace lockstep::nets {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr auto kLayout = torch::MemoryFormat::ChannelsLast;

void run_pass(const kernels::ConvPass& pass, const kernels::Conv3x3& conv,
              const torch::Tensor& first, const torch::Tensor& second, torch::Tensor& result) {
  const int threads = at::in_parallel_region() ? 1 : at::get_num_threads();
  pass.run(conv, first.data_ptr<float>(), second.data_ptr<float>(), result.data_ptr<float>(),
           {thread_workspace().floats(pass.workspace(conv, threads)), threads});
}

kernels::Conv3x3 conv_shape(const torch::Tensor& input, const torch::Tensor& weight, int stride) {
  return {input.size(0), input.size(2), input.size(3), weight.size(1), weight.size(0), stride};
}

struct WinogradConv : torch::autograd::Function<WinogradConv> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& given_input,
                               const torch::Tensor& given_weight, std::int64_t stride) {
    const auto input = given_input.contiguous(kLayout);
    const auto weight = given_weight.contiguous();
    const auto conv = conv_shape(input, weight, static_cast<int>(stride));
    auto output = torch::empty({conv.images, conv.out, conv.out_height(), conv.out_width()},
                               input.options().memory_format(kLayout));
    run_pass(kernels::conv_kernels().forward, conv, input, weight, output);
    context->save_for_backward({input, weight});
    context->saved_data["stride"] = stride;
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const auto saved = context->get_saved_variables();
    const auto &input = saved[0], &weight = saved[1];
    const auto grad = grads[0].contiguous(kLayout);
    const auto conv =
        conv_shape(input, weight, static_cast<int>(context->saved_data["stride"].toInt()));
    torch::Tensor grad_input, grad_weight;
    if (context->needs_input_grad(1)) {
      grad_weight = torch::empty_like(weight);
      run_pass(kernels::conv_kernels().weight_grad, conv, input, grad, grad_weight);
    }
    if (context->needs_input_grad(0)) {
      grad_input = torch::empty_like(input);
      run_pass(kernels::conv_kernels().input_grad, conv, grad, weight, grad_input);
    }
    return {grad_input, grad_weight, torch::Tensor()};
  }
};

bool plain_images(const torch::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.scalar_type() == torch::kFloat &&
         tensor.layout() == torch::kStrided && tensor.dim() == 4;
}

}  // namespace

// Measured with bench_convolution, forward + backward, against oneDNN 2.6: both with AVX2 on Zen 3,
// both with AVX-512 on Zen 4. The kernels' vectors are as wide as oneDNN's, so that the width of
// those of a CPU is no part of the rule:
//  - 64 to 512 channels, b = 32: 2.7-3.3 (Zen 3) and 2.3-2.7 (Zen 4) times as fast with stride 1,
//    1.5-1.8 and 1.3-1.5 times with stride 2; 16 and 32 channels: 1.2-1.9 and 1.0-2.4 times.
//  - Tiles that are mostly beyond the image are wasted: 5x5 images, whose tiles are 39 % full, gain
//    1.2 and 1.1 times, 2x2 images (25 %) do not.
//  - Transforming the weights has to pay: with 4 tiles in all it does not (0.4-1.2 on Zen 3, up to
//    1.3 on Zen 4), with 8 it does.
// On ARM64 and on CPUs of other makers the same rules hold, unmeasured.
bool winograd_pays(const torch::Tensor& input, const torch::Tensor& weight, int stride) {
  if (!plain_images(input) || !plain_images(weight) || !kernels::cpu_supported()) return false;
  const auto conv = conv_shape(input, weight, stride);
  const auto block = kernels::kChannelBlock;
  const bool possible = weight.size(2) == 3 && weight.size(3) == 3 && input.size(1) == conv.in &&
                        conv.in % block == 0 && conv.out % block == 0 && input.numel() > 0 &&
                        weight.numel() > 0 && (stride == 1 || stride == 2);
  if (!possible) return false;
  constexpr std::int64_t kTile = 4, kFewTiles = 8;
  const auto tiles =
      (conv.out_height() + kTile - 1) / kTile * ((conv.out_width() + kTile - 1) / kTile);
  const auto full = static_cast<double>(conv.out_height() * conv.out_width()) /
                    static_cast<double>(tiles * kTile * kTile);
  if (conv.images * tiles < kFewTiles) return false;
  return full > (stride == 1 ? 0.35 : 0.6);
}

torch::Tensor winograd_conv3x3(const torch::Tensor& input, const torch::Tensor& weight,
                               int stride) {
  return WinogradConv::apply(input, weight, stride);
}

torch::Tensor conv3x3(const torch::Tensor& input, const torch::Tensor& weight, int stride) {
  if (winograd_pays(input, weight, stride)) return winograd_conv3x3(input, weight, stride);
  return torch::conv2d(input, weight, {}, stride, /*padding=*/1);
}

}  // namespace lockstep::nets
