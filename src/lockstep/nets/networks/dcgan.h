#pragma once

#include "lockstep/nets/networks/network.h"

namespace lockstep::nets {

/// Length of the vectors that the generator makes images of.
inline constexpr int kDcganLatent = 100;
/// Side of the images.
inline constexpr int kDcganSide = 64;

/// The generator of DCGAN (Radford et al. 2016) for 3 x 64 x 64 images with values in [-1, 1]: five
/// transposed convolutions of 512, 256, 128, 64 and 3 channels with batch norms. 3,576,704
/// parameters, named as in PyTorch's DCGAN example ("main.0.weight", ...).
class DcganGenerator final : public Network {
 public:
  DcganGenerator();
  /// `latent` is N x 100, or N x 100 x 1 x 1; the result N x 3 x 64 x 64.
  torch::Tensor forward(const torch::Tensor& latent) override;

 private:
  torch::nn::Sequential main_{nullptr};
};

/// The discriminator that goes with it: five convolutions of 64, 128, 256, 512 and 1 channels.
/// 2,765,568 parameters. It ends in the logit of "this image is real", without a sigmoid, which the
/// loss takes along in a form that does not overflow.
class DcganDiscriminator final : public Network {
 public:
  DcganDiscriminator();
  /// N x 3 x 64 x 64 to N logits.
  torch::Tensor forward(const torch::Tensor& images) override;

 private:
  torch::nn::Sequential main_{nullptr};
};

}  // namespace lockstep::nets
