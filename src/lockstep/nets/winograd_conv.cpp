#include "lockstep/nets/winograd_conv.h"

#include <ATen/Parallel.h>

#include "lockstep/nets/avx2/conv3x3.h"
#include "lockstep/nets/avx2/cpu.h"
#include "lockstep/nets/workspace.h"

namespace lockstep::nets {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr auto kChannelsLast = torch::MemoryFormat::ChannelsLast;

avx2::Workspace workspace(std::size_t floats) {
  return {thread_workspace().floats(floats), at::in_parallel_region() ? 1 : at::get_num_threads()};
}

avx2::Conv3x3 shape(const torch::Tensor& input, const torch::Tensor& weight, int stride) {
  return {input.size(0), input.size(2), input.size(3), weight.size(1), weight.size(0), stride};
}

struct WinogradConv : torch::autograd::Function<WinogradConv> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& given_input,
                               const torch::Tensor& given_weight, std::int64_t stride) {
    const auto input = given_input.contiguous(kChannelsLast);
    const auto weight = given_weight.contiguous();
    const auto conv = shape(input, weight, static_cast<int>(stride));
    auto output = torch::empty({conv.images, conv.out, conv.out_height(), conv.out_width()},
                               input.options().memory_format(kChannelsLast));
    avx2::forward(conv, input.data_ptr<float>(), weight.data_ptr<float>(), output.data_ptr<float>(),
                  workspace(avx2::forward_workspace(conv)));
    context->save_for_backward({input, weight});
    context->saved_data["stride"] = stride;
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const auto saved = context->get_saved_variables();
    const auto &input = saved[0], &weight = saved[1];
    const auto grad = grads[0].contiguous(kChannelsLast);
    const auto conv = shape(input, weight, static_cast<int>(context->saved_data["stride"].toInt()));
    torch::Tensor grad_input, grad_weight;
    if (context->needs_input_grad(1)) {
      grad_weight = torch::empty_like(weight);
      avx2::weight_grad(conv, input.data_ptr<float>(), grad.data_ptr<float>(),
                        grad_weight.data_ptr<float>(),
                        workspace(avx2::weight_grad_workspace(conv)));
    }
    if (context->needs_input_grad(0)) {
      grad_input = torch::empty_like(input);
      avx2::input_grad(conv, grad.data_ptr<float>(), weight.data_ptr<float>(),
                       grad_input.data_ptr<float>(), workspace(avx2::input_grad_workspace(conv)));
    }
    return {grad_input, grad_weight, torch::Tensor()};
  }
};

bool plain_floats(const torch::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.scalar_type() == torch::kFloat &&
         tensor.layout() == torch::kStrided && tensor.dim() == 4;
}

}  // namespace

bool winograd_pays(const torch::Tensor& input, const torch::Tensor& weight, int stride) {
  if (!plain_floats(input) || !plain_floats(weight) || !avx2::cpu_supported()) return false;
  const auto conv = shape(input, weight, stride);
  const auto block = avx2::kChannelBlock;
  return weight.size(2) == 3 && weight.size(3) == 3 && input.numel() > 0 &&
         input.size(1) == conv.in && conv.in % block == 0 && conv.out % block == 0 &&
         (stride == 1 || stride == 2);
}

torch::Tensor conv3x3(const torch::Tensor& input, const torch::Tensor& weight, int stride) {
  if (winograd_pays(input, weight, stride)) return WinogradConv::apply(input, weight, stride);
  return torch::conv2d(input, weight, {}, stride, /*padding=*/1);
}

}  // namespace lockstep::nets
