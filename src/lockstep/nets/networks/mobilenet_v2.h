#pragma once

#include "lockstep/nets/networks/network.h"

namespace lockstep::nets {

/// Channels that come out of mobilenet_v2_features().
inline constexpr int kMobileNetV2Features = 1280;

/// The convolutions of MobileNetV2 (Sandler et al. 2018): seventeen inverted residuals between a
/// stem and a 1x1 convolution, layers numbered, and so parameters named, as torchvision's
/// `mobilenet_v2().features`. N x 3 x H x W to N x 1280 x H/32 x W/32; 2,223,872 parameters.
torch::nn::Sequential mobilenet_v2_features();

/// The whole of it as in torchvision, "features" and "classifier": 3,504,872 parameters for 1000
/// classes. Images of any size from 32 x 32.
class MobileNetV2 final : public Network {
 public:
  explicit MobileNetV2(int classes = 1000);
  torch::Tensor forward(const torch::Tensor& images) override;

 private:
  torch::nn::Sequential features_{nullptr}, classifier_{nullptr};
};

}  // namespace lockstep::nets
