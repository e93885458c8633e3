#pragma once

#include <c10/core/Event.h>
#include <torch/torch.h>

#include <cstddef>
#include <span>

namespace lockstep::train {

/// Floats of the host that a device copies from and to while the host goes on; ordinary memory for
/// a CPU.
torch::Tensor page_locked_floats(std::size_t count, torch::Device device);

/// A few floats that a device computed, for the host to read later: the host queues the copies and
/// waits once, when it needs them.
///
///   queue(at, values) ...; close(); more work; wait()
class Readback {
 public:
  Readback(std::size_t floats, torch::Device device);

  /// Copies the values to place `at`, when the device's current stream gets there.
  void queue(std::size_t at, const torch::Tensor& values);
  /// All copies are queued.
  void close();
  /// Blocks until the copies before close() are done.
  std::span<const float> wait() const;

 private:
  torch::Device device_;
  torch::Tensor values_;
  c10::Event copied_;
};

}  // namespace lockstep::train
