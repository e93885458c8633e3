#include "lockstep/nets/layers/batch_norm.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <span>
#include <vector>

#include "lockstep/nets/kernels/batch_norm.h"
#include "lockstep/nets/kernels/cpu.h"
#include "lockstep/nets/layers/moment_exchange.h"
#include "lockstep/nets/layers/sync_batch_norm.h"
#include "lockstep/nets/tensor_span.h"

namespace lockstep::nets {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr auto kChannelsLast = torch::MemoryFormat::ChannelsLast;

int threads() {
  return at::in_parallel_region() ? 1 : at::get_num_threads();
}

kernels::NormShape shape(const torch::Tensor& input) {
  return {input.size(0) * input.size(2) * input.size(3), input.size(1)};
}

const float* floats_or_null(const torch::Tensor& tensor) {
  return tensor.defined() ? tensor.data_ptr<float>() : nullptr;
}

/// input * scale + shift with scale = weight / deviation and shift = bias - mean * scale.
torch::Tensor normalise(const torch::Tensor& input, const float* mean,
                        const float* inverse_deviation, const torch::Tensor& weight,
                        const torch::Tensor& bias, const torch::Tensor& residual, bool relu) {
  const auto norm = shape(input);
  const auto channels = static_cast<std::size_t>(norm.channels);
  std::vector<float> scale(channels), shift(channels);
  const float *weights = weight.data_ptr<float>(), *biases = bias.data_ptr<float>();
  for (std::size_t c = 0; c < channels; ++c) {
    scale[c] = weights[c] * inverse_deviation[c];
    shift[c] = biases[c] - mean[c] * scale[c];
  }
  auto output = torch::empty_like(input);
  kernels::norm_kernels(norm).scale_shift(norm, input.data_ptr<float>(), scale.data(), shift.data(),
                                          {.residual = floats_or_null(residual), .relu = relu},
                                          output.data_ptr<float>(), threads());
  return output;
}

struct Moments {
  torch::Tensor mean, variance;  ///< The variance biased.
  std::int64_t rows = 0;         ///< Values that each is of.
};

/// Training: by the moments of the batch, which are left in `moments`; of all ranks' batches if
/// there is an exchange.
struct BatchNorm : torch::autograd::Function<BatchNorm> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& input,
                               const torch::Tensor& weight, const torch::Tensor& bias,
                               const c10::optional<torch::Tensor>& residual, bool relu, double eps,
                               Moments* moments, MomentExchange* exchange) {
    const auto norm = shape(input);
    auto &mean = moments->mean, &variance = moments->variance;
    mean = torch::empty({norm.channels}, weight.options());
    variance = torch::empty_like(mean);
    std::vector<double> workspace(kernels::norm_kernels(norm).workspace(norm));
    kernels::norm_kernels(norm).channel_moments(norm, input.data_ptr<float>(),
                                                mean.data_ptr<float>(), variance.data_ptr<float>(),
                                                workspace.data(), threads());
    moments->rows = norm.rows;
    if (exchange != nullptr) {
      moments->rows = combine_moments(*exchange, norm.rows, floats(mean), floats(variance));
    }
    auto inverse = torch::empty_like(variance);
    for (std::int64_t c = 0; c < norm.channels; ++c) {
      inverse.data_ptr<float>()[c] =
          static_cast<float>(1.0 / std::sqrt(variance.data_ptr<float>()[c] + eps));
    }
    auto output = normalise(input, mean.data_ptr<float>(), inverse.data_ptr<float>(), weight, bias,
                            residual.value_or(torch::Tensor()), relu);
    context->saved_data["residual"] = residual.has_value();
    context->saved_data["rows"] = moments->rows;
    context->saved_data["exchange"] = reinterpret_cast<std::int64_t>(exchange);
    context->save_for_backward({input, weight, mean, inverse, relu ? output : torch::Tensor()});
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const auto saved = context->get_saved_variables();
    const auto &input = saved[0], &weight = saved[1], &mean = saved[2], &inverse = saved[3];
    const auto& output = saved[4];
    const auto grad = grads[0].contiguous(kChannelsLast);
    const auto norm = shape(input);
    const auto channels = static_cast<std::size_t>(norm.channels);

    torch::Tensor grad_residual;
    if (context->saved_data["residual"].toBool() && context->needs_input_grad(3)) {
      grad_residual = output.defined() ? torch::empty_like(input) : grad;
    }
    float* masked =
        grad_residual.defined() && output.defined() ? grad_residual.data_ptr<float>() : nullptr;
    std::vector<double> workspace(kernels::norm_kernels(norm).workspace(norm)), sums(channels),
        products(channels);
    kernels::norm_kernels(norm).grad_sums(
        norm, grad.data_ptr<float>(), floats_or_null(output), input.data_ptr<float>(),
        mean.data_ptr<float>(), masked, sums.data(), products.data(), workspace.data(), threads());

    auto grad_weight = torch::empty_like(weight), grad_bias = torch::empty_like(weight);
    auto grad_input = torch::empty_like(input);
    // Gradients of parameters are summed over ranks with all others, so these stay the rank's own.
    for (std::size_t c = 0; c < channels; ++c) {
      grad_weight.data_ptr<float>()[c] =
          static_cast<float>(products[c] * inverse.data_ptr<float>()[c]);
      grad_bias.data_ptr<float>()[c] = static_cast<float>(sums[c]);
    }
    auto* exchange = reinterpret_cast<MomentExchange*>(context->saved_data["exchange"].toInt());
    if (exchange != nullptr) combine_gradient_sums(*exchange, sums, products);
    // grad_input = w/σ (g - mean(g) - x̂ mean(g x̂)), x̂ = (x - μ)/σ, gathered by powers of x.
    std::vector<float> by_grad(channels), by_input(channels), constant(channels);
    const auto count = static_cast<double>(context->saved_data["rows"].toInt());
    for (std::size_t c = 0; c < channels; ++c) {
      const double over_deviation = inverse.data_ptr<float>()[c];
      const double scale = weight.data_ptr<float>()[c] * over_deviation;
      const double slope = -scale * over_deviation * over_deviation * products[c] / count;
      by_grad[c] = static_cast<float>(scale);
      by_input[c] = static_cast<float>(slope);
      constant[c] =
          static_cast<float>(-scale * sums[c] / count - slope * mean.data_ptr<float>()[c]);
    }
    const float* rest = masked ? nullptr : floats_or_null(output);
    kernels::norm_kernels(norm).grad_input(
        norm, masked ? masked : grad.data_ptr<float>(), rest, input.data_ptr<float>(),
        by_grad.data(), by_input.data(), constant.data(), grad_input.data_ptr<float>(), threads());
    const torch::Tensor none;
    return {grad_input, grad_weight, grad_bias, grad_residual, none, none, none, none};
  }
};

bool plain_floats(const torch::Tensor& tensor) {
  return tensor.defined() && tensor.device().is_cpu() && tensor.scalar_type() == torch::kFloat &&
         tensor.layout() == torch::kStrided;
}

bool ours(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& input,
          const torch::Tensor& residual) {
  const auto vector = [](const torch::Tensor& tensor) {
    return plain_floats(tensor) && tensor.is_contiguous();
  };
  const auto images = [&](const torch::Tensor& tensor) {
    return plain_floats(tensor) && tensor.dim() == 4 && tensor.is_contiguous(kChannelsLast) &&
           tensor.sizes() == input.sizes();
  };
  return kernels::cpu_supported() && images(input) && (!residual.defined() || images(residual)) &&
         input.size(1) == norm.options.num_features() && input.size(1) % kernels::kNormBlock == 0 &&
         shape(input).rows > 1 && vector(norm.weight) && vector(norm.bias) &&
         vector(norm.running_mean) && vector(norm.running_var) &&
         (norm.is_training() || !torch::GradMode::is_enabled());
}

torch::Tensor apply(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& input,
                    const torch::Tensor& residual, bool relu) {
  MomentExchange* exchange = norm.is_training() ? current_moment_exchange() : nullptr;
  if (!ours(norm, input, residual)) {
    auto output =
        exchange != nullptr ? sync_batch_norm(norm, input, *exchange) : norm.forward(input);
    if (residual.defined()) output = output + residual;
    return relu ? torch::relu(output) : output;
  }
  if (!norm.is_training()) {
    const auto inverse = torch::rsqrt(norm.running_var + norm.options.eps());
    return normalise(input, norm.running_mean.data_ptr<float>(), inverse.data_ptr<float>(),
                     norm.weight, norm.bias, residual, relu);
  }
  Moments moments;
  const auto added = residual.defined() ? c10::make_optional(residual) : c10::nullopt;
  auto output = BatchNorm::apply(input, norm.weight, norm.bias, added, relu, norm.options.eps(),
                                 &moments, exchange);
  update_running_averages(norm, moments.mean, moments.variance, moments.rows);
  return output;
}

}  // namespace

torch::Tensor batch_norm_relu(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& input,
                              const torch::Tensor& residual) {
  return apply(norm, input, residual, true);
}

torch::Tensor batch_norm(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& input) {
  return apply(norm, input, {}, false);
}

torch::Tensor run_layers(torch::nn::SequentialImpl& layers, torch::Tensor x) {
  for (auto& layer : layers) {
    auto* norm = layer.ptr()->as<torch::nn::BatchNorm2d>();
    x = norm ? batch_norm(*norm, x) : layer.forward<torch::Tensor>(x);
  }
  return x;
}

}  // namespace lockstep::nets
