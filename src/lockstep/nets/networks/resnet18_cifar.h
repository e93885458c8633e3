#pragma once

#include <vector>

#include "lockstep/nets/networks/network.h"

namespace lockstep::nets {

/// The CIFAR variant of ResNet-18 (He et al. 2016): a 3x3 stem without pooling, four stages of two
/// basic blocks with 64, 128, 256 and 512 channels, average pooling over 4x4. 11,173,962 parameters
/// for 3 x 32 x 32 images and 10 classes.
///
/// Activations are in channels_last order from the stem to the pooling: 3x3 convolutions run as
/// Winograd's minimal filtering (winograd_conv.h) and normalisation, addition and relu in one pass
/// (batch_norm.h) where the CPU has the instructions for it, else through ATen.
class ResNet18Cifar final : public Network {
 public:
  explicit ResNet18Cifar(int classes = 10);
  torch::Tensor forward(const torch::Tensor& images) override;

 private:
  struct Block;

  torch::nn::Conv2d stem_{nullptr};
  torch::nn::BatchNorm2d stem_norm_{nullptr};
  std::vector<std::shared_ptr<Block>> blocks_;
  torch::nn::Linear scores_{nullptr};
};

}  // namespace lockstep::nets
