#pragma once

#include <torch/torch.h>

namespace lockstep::nets {

/// max_pool2d(relu(x), 2) in one pass each way, for float N x C x H x W in channels_last order on a
/// CPU; H and W even, C a multiple of 8. ATen's two kernels and the index tensor between them take
/// a third of a small network's step. Gradients go to the first largest element of a window, as
/// with ATen. Other inputs take ATen's way.
torch::Tensor relu_max_pool(const torch::Tensor& input);

}  // namespace lockstep::nets
