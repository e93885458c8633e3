#include "lockstep/nets/layers/sync_batch_norm.h"

#include <algorithm>

#include "lockstep/base/error.h"
#include "lockstep/nets/tensor_span.h"

namespace lockstep::nets {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Everything but the channels.
std::vector<std::int64_t> reduced_dimensions(const torch::Tensor& input) {
  std::vector<std::int64_t> dimensions{0};
  for (std::int64_t d = 2; d < input.dim(); ++d) dimensions.push_back(d);
  return dimensions;
}

/// A vector of channels in a shape that broadcasts along them.
torch::Tensor along_channels(const torch::Tensor& values, const torch::Tensor& like) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(like.dim()), 1);
  shape[1] = values.numel();
  return values.reshape(shape);
}

struct SyncBatchNorm : torch::autograd::Function<SyncBatchNorm> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& input,
                               const torch::Tensor& weight, const torch::Tensor& bias,
                               const torch::Tensor& mean, const torch::Tensor& inverse,
                               std::int64_t rows, MomentExchange* exchange) {
    context->saved_data["rows"] = rows;
    context->saved_data["exchange"] = reinterpret_cast<std::int64_t>(exchange);
    context->save_for_backward({input, weight, mean, inverse});
    return (input - along_channels(mean, input)) * along_channels(weight * inverse, input) +
           along_channels(bias, input);
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const auto saved = context->get_saved_variables();
    const auto &input = saved[0], &weight = saved[1], &mean = saved[2], &inverse = saved[3];
    auto* exchange = reinterpret_cast<MomentExchange*>(context->saved_data["exchange"].toInt());
    const auto count = static_cast<double>(context->saved_data["rows"].toInt());
    const auto& grad = grads[0];
    const auto centred = input - along_channels(mean, input);
    const auto dimensions = reduced_dimensions(input);
    auto sums = grad.to(torch::kDouble).sum(dimensions);
    auto products = (grad * centred).to(torch::kDouble).sum(dimensions);
    // Those of the parameters stay the rank's own: all gradients of parameters are summed later.
    const auto grad_weight = (products * inverse).to(torch::kFloat);
    const auto grad_bias = sums.to(torch::kFloat);
    // Ranks exchange sums through the host; on a CPU these are the same tensors.
    sums = sums.cpu();
    products = products.cpu();
    combine_gradient_sums(*exchange, doubles(sums), doubles(products));
    sums = sums.to(input.device());
    products = products.to(input.device());
    const auto mean_grad = (sums / count).to(torch::kFloat);
    const auto slope = (products / count * inverse * inverse).to(torch::kFloat);
    const auto grad_input =
        (grad - along_channels(mean_grad, input) - centred * along_channels(slope, input)) *
        along_channels(weight * inverse, input);
    const torch::Tensor none;
    return {grad_input, grad_weight, grad_bias, none, none, none, none};
  }
};

}  // namespace

std::int64_t combine_moments(MomentExchange& exchange, std::int64_t rows, std::span<float> mean,
                             std::span<float> variance) {
  // Sums of values and of squares in double: of floats they are as good as exact, so that nothing
  // is lost when the mean's square is taken off.
  const std::size_t channels = mean.size();
  std::vector<double> values(2 * channels + 1);
  const auto count = static_cast<double>(rows);
  for (std::size_t c = 0; c < channels; ++c) {
    const auto m = static_cast<double>(mean[c]), v = static_cast<double>(variance[c]);
    values[c] = count * m;
    values[channels + c] = count * (v + m * m);
  }
  values.back() = count;
  exchange.sum(values);
  const double total = values.back();
  if (total < 2) {
    throw Error(ErrorKind::kData, "batch norm needs more than one value per channel in training",
                "use a larger batch");
  }
  for (std::size_t c = 0; c < channels; ++c) {
    const double m = values[c] / total;
    mean[c] = static_cast<float>(m);
    variance[c] = static_cast<float>(std::max(0.0, values[channels + c] / total - m * m));
  }
  return static_cast<std::int64_t>(total);
}

void combine_gradient_sums(MomentExchange& exchange, std::span<double> sums,
                           std::span<double> products) {
  std::vector<double> values(sums.begin(), sums.end());
  values.insert(values.end(), products.begin(), products.end());
  exchange.sum(values);
  std::copy_n(values.begin(), sums.size(), sums.begin());
  std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(sums.size()), products.size(),
              products.begin());
}

torch::Tensor sync_batch_norm(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& input,
                              MomentExchange& exchange) {
  torch::Tensor mean, variance;
  std::int64_t rows = input.numel() / input.size(1);
  {
    const torch::NoGradGuard no_grad;
    const auto values = input.detach().to(torch::kDouble);
    const auto dimensions = reduced_dimensions(input);
    const auto own_mean = values.mean(dimensions);
    mean = own_mean.to(torch::kFloat).contiguous().cpu();
    variance = (values - along_channels(own_mean, values))
                   .square()
                   .mean(dimensions)
                   .to(torch::kFloat)
                   .contiguous()
                   .cpu();
    rows = combine_moments(exchange, rows, floats(mean), floats(variance));
    mean = mean.to(input.device());
    variance = variance.to(input.device());
    update_running_averages(norm, mean, variance, rows);
  }
  const auto inverse = torch::rsqrt(variance + norm.options.eps());
  return SyncBatchNorm::apply(input, norm.weight, norm.bias, mean, inverse, rows, &exchange);
}

void update_running_averages(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& mean,
                             const torch::Tensor& variance, std::int64_t rows) {
  const torch::NoGradGuard no_grad;
  norm.num_batches_tracked.add_(1);
  const auto momentum = norm.options.momentum();
  const double share = momentum ? *momentum : 1.0 / norm.num_batches_tracked.item<double>();
  const double unbias = static_cast<double>(rows) / static_cast<double>(rows - 1);
  norm.running_mean.mul_(1 - share).add_(mean, share);
  norm.running_var.mul_(1 - share).add_(variance, share * unbias);
}

}  // namespace lockstep::nets
