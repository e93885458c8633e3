#include "lockstep/sync_batch_norm.h"

#include "lockstep/base/error.h"

namespace lockstep {
namespace {

/// The sum over ranks; its gradient is the sum of the ranks' gradients.
struct SumOverRanks : torch::autograd::Function<SumOverRanks> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, torch::Tensor values,
                               Job* job) {
    context->saved_data["job"] = reinterpret_cast<std::int64_t>(job);
    auto sum = values.clone();
    job->sum_(sum);
    return sum;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    auto* job = reinterpret_cast<Job*>(context->saved_data["job"].toInt());
    auto sum = gradients[0].clone();
    job->sum_(sum);
    return {sum, torch::Tensor()};
  }
};

/// A value per channel in a shape that broadcasts along the channels.
torch::Tensor along_channels(const torch::Tensor& values, const torch::Tensor& like) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(like.dim()), 1);
  shape[1] = values.numel();
  return values.reshape(shape);
}

/// SyncBatchNorm with the tensors of `norm`; nothing for other modules.
template <class Norm>
std::shared_ptr<SyncBatchNormImpl> sync_of(const std::shared_ptr<torch::nn::Module>& module,
                                           const Job& job) {
  const auto norm = std::dynamic_pointer_cast<Norm>(module);
  if (!norm) return nullptr;
  auto sync = std::make_shared<SyncBatchNormImpl>(job, norm->options);
  for (auto& entry : sync->named_parameters(false)) {
    entry.value().set_data(norm->named_parameters(false)[entry.key()].data());
    entry.value().set_requires_grad(norm->named_parameters(false)[entry.key()].requires_grad());
  }
  for (auto& entry : sync->named_buffers(false)) {
    entry.value().set_data(norm->named_buffers(false)[entry.key()]);
  }
  sync->train(norm->is_training());
  return sync;
}

}  // namespace

SyncBatchNormImpl::SyncBatchNormImpl(const Job& job, const torch::nn::BatchNormOptions& options)
    : options(options), job_(job) {
  if (options.affine()) {
    weight = register_parameter("weight", torch::ones({options.num_features()}));
    bias = register_parameter("bias", torch::zeros({options.num_features()}));
  }
  if (options.track_running_stats()) {
    running_mean = register_buffer("running_mean", torch::zeros({options.num_features()}));
    running_var = register_buffer("running_var", torch::ones({options.num_features()}));
    num_batches_tracked =
        register_buffer("num_batches_tracked", torch::tensor(0, torch::dtype(torch::kLong)));
  }
}

torch::Tensor SyncBatchNormImpl::forward(const torch::Tensor& given) {
  if (given.dim() < 2 || given.size(1) != options.num_features()) {
    throw Error(ErrorKind::kUsage,
                "SyncBatchNorm takes N x C x ... with the C that it was constructed with",
                "check the shape of the input");
  }
  const bool track = is_training() && options.track_running_stats();
  if (!is_training() && options.track_running_stats()) {
    return torch::batch_norm(given, weight, bias, running_mean, running_var, false, 0.0,
                             options.eps(), false);
  }
  // Sums over a batch do not fit into 16 bits; under autocast that is what convolutions return.
  const bool is_short =
      given.scalar_type() == torch::kHalf || given.scalar_type() == torch::kBFloat16;
  const auto input = is_short ? given.to(torch::kFloat) : given;
  std::vector<std::int64_t> others{0};
  for (std::int64_t d = 2; d < input.dim(); ++d) others.push_back(d);
  const std::int64_t rows = input.numel() / std::max<std::int64_t>(1, input.size(1));
  // The number of rows goes along with the sums: ranks may differ in it.
  const auto sums = SumOverRanks::apply(
      torch::cat({input.sum(others), torch::full({1}, rows, input.options())}), &job_);
  const auto channels = options.num_features();
  const auto count = sums.narrow(0, channels, 1).detach();
  const auto mean = sums.narrow(0, 0, channels) / count;
  const auto centred = input - along_channels(mean, input);
  const auto variance = SumOverRanks::apply(centred.square().sum(others), &job_) / count;
  if (track) {
    const torch::NoGradGuard no_grad;
    num_batches_tracked += 1;
    const double momentum = options.momentum().has_value()
                                ? *options.momentum()
                                : 1.0 / num_batches_tracked.item<double>();
    running_mean.mul_(1 - momentum).add_(mean, momentum);
    running_var.mul_(1 - momentum).add_(variance * count / (count - 1), momentum);
  }
  auto output = centred * along_channels((variance + options.eps()).rsqrt(), input);
  if (options.affine()) {
    output = output * along_channels(weight, input) + along_channels(bias, input);
  }
  return output.to(given.scalar_type());
}

torch::nn::Sequential convert_sync_batch_norm(const torch::nn::Sequential& network,
                                              const Job& job) {
  torch::nn::Sequential result;
  const auto children = network->named_children();
  std::size_t at = 0;
  for (auto& module : *network) {
    const std::string name = children[at++].key();
    const auto child = module.ptr();
    auto sync = sync_of<torch::nn::BatchNorm1dImpl>(child, job);
    if (!sync) sync = sync_of<torch::nn::BatchNorm2dImpl>(child, job);
    if (!sync) sync = sync_of<torch::nn::BatchNorm3dImpl>(child, job);
    result->push_back(name, sync ? torch::nn::AnyModule(sync) : torch::nn::AnyModule(module));
  }
  return result;
}

}  // namespace lockstep
