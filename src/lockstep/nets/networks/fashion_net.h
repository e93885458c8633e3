#pragma once

#include "lockstep/nets/networks/network.h"

namespace lockstep::nets {

/// The network of the `fashion` recipe, for 1 x 28 x 28 images of 10 classes: two 3x3 convolutions
/// of 8 and 24 channels, each with relu and 2x2 max-pooling, then 128 hidden units. 153,778
/// parameters.
class FashionNet final : public Network {
 public:
  FashionNet();
  torch::Tensor forward(const torch::Tensor& images) override;

 private:
  torch::nn::Conv2d conv1_{nullptr}, conv2_{nullptr};
  torch::nn::Linear hidden_{nullptr}, scores_{nullptr};
};

}  // namespace lockstep::nets
