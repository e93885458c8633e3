#pragma once

#include <torch/torch.h>

/// The optimizers of torch::optim with a faster step on CPUs: one pass over the memory of each
/// parameter, its gradient and its state, on all threads of the rank, where LibTorch makes one pass
/// per operation. Constructors, options, parameter groups, state and files are those of the base
/// class, and so are the steps, to rounding. With or without DataParallel.
///
///   lockstep::optim::Adam optimizer(net->parameters(), torch::optim::AdamOptions(1e-3));
///
/// A step is left to the base class if a parameter is not a dense tensor of 32-bit floats on the
/// CPU with a gradient of the same layout, and with options that have no such pass: SGD without
/// momentum, with dampening or with Nesterov's momentum, and AMSGrad.
///
/// zero_grad() sets gradients to none with any LibTorch, as that of LibTorch 2 and Python does:
/// backward then writes gradients where it would add to zeros, which is two to four passes over
/// them less. A parameter that no rank has used is skipped by the next step.
namespace lockstep::optim {

class SGD : public torch::optim::SGD {
 public:
  using torch::optim::SGD::SGD;
  torch::Tensor step(LossClosure closure = nullptr) override;
  void zero_grad(bool set_to_none = true);
};

class Adam : public torch::optim::Adam {
 public:
  using torch::optim::Adam::Adam;
  torch::Tensor step(LossClosure closure = nullptr) override;
  void zero_grad(bool set_to_none = true);
};

class AdamW : public torch::optim::AdamW {
 public:
  using torch::optim::AdamW::AdamW;
  torch::Tensor step(LossClosure closure = nullptr) override;
  void zero_grad(bool set_to_none = true);
};

}  // namespace lockstep::optim
