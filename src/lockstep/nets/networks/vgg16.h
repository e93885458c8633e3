#pragma once

#include "lockstep/nets/networks/network.h"

namespace lockstep::nets {

/// The thirteen 3x3 convolutions of VGG16 (Simonyan and Zisserman 2015) with their relus and pools;
/// layers are numbered, and so parameters named, as torchvision's `vgg16().features`. N x 3 x H x W
/// to N x 512 x H/32 x W/32; 14,714,688 parameters.
torch::nn::Sequential vgg16_features();

/// The whole of it as in torchvision, "features" and "classifier": 138,357,544 parameters for 1000
/// classes. Images of any size from 32 x 32.
class Vgg16 final : public Network {
 public:
  explicit Vgg16(int classes = 1000);
  torch::Tensor forward(const torch::Tensor& images) override;

 private:
  torch::nn::Sequential features_{nullptr}, classifier_{nullptr};
};

}  // namespace lockstep::nets
