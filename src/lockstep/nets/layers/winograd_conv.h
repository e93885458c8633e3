#pragma once

#include <torch/torch.h>

namespace lockstep::nets {

/// conv2d(input, weight, stride, padding 1) for N x C x H x W images and K x C x 3 x 3 weights,
/// with gradients. Runs as Winograd's minimal filtering where winograd_pays(), and then result and
/// gradient are in channels_last order; else through ATen.
torch::Tensor conv3x3(const torch::Tensor& input, const torch::Tensor& weight, int stride = 1);

/// The same by Winograd's minimal filtering in any case, for sizes that the kernels can do
/// (nets/kernels/conv3x3.h); to measure where it pays.
torch::Tensor winograd_conv3x3(const torch::Tensor& input, const torch::Tensor& weight, int stride);

/// The rule: whether conv3x3() uses the kernels of nets/kernels for these arguments.
bool winograd_pays(const torch::Tensor& input, const torch::Tensor& weight, int stride);

}  // namespace lockstep::nets
