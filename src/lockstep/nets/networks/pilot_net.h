#pragma once

#include "lockstep/nets/networks/network.h"

namespace lockstep::nets {

/// PilotNet (Bojarski et al. 2016): the steering angle from a 3 x 66 x 200 picture of the road, by
/// five convolutions of 24, 36, 48, 64 and 64 channels and four dense layers of 100, 50, 10 and 1
/// units, with ELUs between. 252,219 parameters.
class PilotNet final : public Network {
 public:
  PilotNet();
  /// One value per image: N x 1.
  torch::Tensor forward(const torch::Tensor& images) override;

 private:
  torch::nn::Sequential convolutions_{nullptr}, dense_{nullptr};
};

}  // namespace lockstep::nets
