#include "lockstep/nets/layers/relu_max_pool.h"

#include <algorithm>

#include "lockstep/nets/layers/relu_max_pool_kernels.h"
#include "lockstep/nets/share_work.h"

namespace lockstep::nets {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Calls work(first, count) for parts of the images, each of `area` floats. With less than kFloats
/// per thread, starting the others takes longer than they save.
template <class Work>
void for_images(std::int64_t images, std::int64_t area, const Work& work) {
  constexpr std::int64_t kFloats = 1 << 16;
  share_work(images, std::max<std::int64_t>(kFloats / area, 1),
             [&](std::int64_t begin, std::int64_t end) { work(begin, end - begin); });
}

struct ReluMaxPool : torch::autograd::Function<ReluMaxPool> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& input) {
    const auto n = input.size(0), channels = input.size(1);
    const auto height = input.size(2), width = input.size(3);
    const auto like = input.options().memory_format(torch::MemoryFormat::ChannelsLast);
    auto output = torch::empty({n, channels, height / 2, width / 2}, like);
    auto choice = torch::empty({n, channels, height / 2, width / 2}, like.dtype(torch::kUInt8));
    const auto* from = input.data_ptr<float>();
    auto* into = output.data_ptr<float>();
    auto* chosen = choice.data_ptr<std::uint8_t>();
    const auto area = height * width * channels;
    for_images(n, area, [&](std::int64_t first, std::int64_t count) {
      const auto at = first * area;
      relu_max_pool_forward(from + at, count, height, width, channels, into + at / 4,
                            chosen + at / 4);
    });
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
    const auto* from = grad.data_ptr<float>();
    const auto* chosen = choice.data_ptr<std::uint8_t>();
    auto* into = grad_input.data_ptr<float>();
    const auto area = height * width * channels;
    for_images(n, area, [&](std::int64_t first, std::int64_t count) {
      const auto at = first * area;
      relu_max_pool_backward(from + at / 4, chosen + at / 4, count, height, width, channels,
                             into + at);
    });
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
