#pragma once

#include <torch/torch.h>

namespace lockstep::train {

/// A sum that grows where its terms are: what a device has computed stays there, so that the host
/// does not have to wait for it.
class Tally {
 public:
  void add(double value) { on_host_ += value; }

  /// `weight` times a tensor of one element.
  void add(const torch::Tensor& value, double weight = 1) {
    const auto term = value.detach();
    if (term.is_cpu()) {
      on_host_ += term.item<double>() * weight;
      return;
    }
    const auto weighted = term.to(torch::kFloat).reshape({}) * weight;
    on_device_ = on_device_.defined() ? on_device_ + weighted : weighted;
  }

  /// The part that was added up on the host.
  double on_host() const { return on_host_; }
  /// The part that was added up on a device: a float, or undefined.
  const torch::Tensor& on_device() const { return on_device_; }

  /// All of it; waits for the device.
  double read() const {
    return on_host_ + (on_device_.defined() ? on_device_.item<double>() : 0.0);
  }

 private:
  double on_host_ = 0;
  torch::Tensor on_device_;
};

}  // namespace lockstep::train
