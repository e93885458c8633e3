#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace lockstep::nets {

/// A network as the trainer sees it: images in, scores out, parameters registered with LibTorch.
class Network : public torch::nn::Module {
 public:
  /// `images` is N x C x H x W floats; the result has one row per image.
  virtual torch::Tensor forward(const torch::Tensor& images) = 0;

  /// Trainable parameters, counted once.
  std::int64_t parameter_count() const;
};

}  // namespace lockstep::nets
