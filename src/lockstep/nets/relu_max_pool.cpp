#include "lockstep/nets/relu_max_pool.h"

#include "lockstep/nets/relu_max_pool_kernels.h"

namespace lockstep::nets {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct ReluMaxPool : torch::autograd::Function<ReluMaxPool> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& input) {
    const auto n = input.size(0), channels = input.size(1);
    const auto height = input.size(2), width = input.size(3);
    const auto like = input.options().memory_format(torch::MemoryFormat::ChannelsLast);
    auto output = torch::empty({n, channels, height / 2, width / 2}, like);
    auto choice = torch::empty({n, channels, height / 2, width / 2}, like.dtype(torch::kUInt8));
    relu_max_pool_forward(input.data_ptr<float>(), n, height, width, channels,
                          output.data_ptr<float>(), choice.data_ptr<std::uint8_t>());
    context->save_for_backward({choice});
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const auto choice = context->get_saved_variables()[0];
    const auto grad = grads[0].contiguous(torch::MemoryFormat::ChannelsLast);
    const auto n = choice.size(0), channels = choice.size(1);
    const auto height = choice.size(2) * 2, width = choice.size(3) * 2;
    auto grad_input = torch::empty({n, channels, height, width},
                                   grad.options().memory_format(torch::MemoryFormat::ChannelsLast));
    relu_max_pool_backward(grad.data_ptr<float>(), choice.data_ptr<std::uint8_t>(), n, height,
                           width, channels, grad_input.data_ptr<float>());
    return {grad_input};
  }
};

}  // namespace

torch::Tensor relu_max_pool(const torch::Tensor& input) {
  const bool ours = input.device().is_cpu() && input.scalar_type() == torch::kFloat &&
                    input.dim() == 4 && input.is_contiguous(torch::MemoryFormat::ChannelsLast) &&
                    input.size(1) % kPoolBlock == 0 && input.size(2) % 2 == 0 &&
                    input.size(3) % 2 == 0;
  return ours ? ReluMaxPool::apply(input) : torch::max_pool2d(torch::relu(input), 2);
}

}  // namespace lockstep::nets
