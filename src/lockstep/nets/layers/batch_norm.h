#pragma once

#include <torch/torch.h>

namespace lockstep::nets {

/// norm(input), with relu, or relu of the sum with `residual` if that is defined, in one pass over
/// the memory each way in place of three. The same numbers, running averages and gradients as
/// `norm->forward()`, `+` and `relu` give. Takes ATen's way for all but N x C x H x W floats on a
/// CPU in channels_last order that is supported by nets/kernels, and where gradients are wanted in
/// evaluation. Inside a SyncBatchNormScope (moment_exchange.h) norms that train do so over the
/// global batch.
torch::Tensor batch_norm_relu(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& input,
                              const torch::Tensor& residual = {});

/// norm(input) alone, on the same terms.
torch::Tensor batch_norm(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& input);

/// layers(x), with batch norms directly in the sequence treated the same way.
torch::Tensor run_layers(torch::nn::SequentialImpl& layers, torch::Tensor x);

}  // namespace lockstep::nets
