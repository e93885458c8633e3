#pragma once

#include <torch/torch.h>

#include <memory>
#include <string>

namespace lockstep::train {

/// Where a rank computes: the CPU, or a GPU of its host. Parameters, gradients and the optimizer's
/// state stay on it. All that is particular to GPUs is here, in the device functions of optimizer
/// rules and in comm/backends/c10d/nccl.cpp.
class Device {
 public:
  /// "cpu" or "cuda"; then the GPU of that number among those this process sees. Throws
  /// kEnvironment when there is no such GPU, or this LibTorch was built without CUDA.
  static Device open(const std::string& name, int gpu, bool amp);
  /// How many GPUs CUDA shows to this process; 0 without CUDA.
  static int visible_gpus();
  /// Which GPU of the host a visible one is, like "0000:3B:00.0"; empty where the CUDA runtime does
  /// not report it.
  static std::string pci_id_of(int gpu);
  ~Device();
  Device(Device&&) noexcept;
  Device& operator=(Device&&) noexcept;

  torch::Device torch() const { return device_; }
  bool is_cpu() const { return device_.is_cpu(); }

  /// The tensor on the device: itself on a CPU. On a GPU it is copied through pinned host memory on
  /// a separate stream, and the computing stream waits for it, not this thread. The memory of
  /// `host` may be reused at once.
  torch::Tensor take(const torch::Tensor& host);

  /// Blocks until the device has done what it was given: without it a phase would end when its work
  /// is queued. Does nothing on a CPU, where work is done when a call returns.
  void wait() const;

  /// While it lives, operations for which 16 bits are enough run in bfloat16, if --amp was
  /// given.
  class MixedPrecision {
   public:
    explicit MixedPrecision(const Device& device);
    ~MixedPrecision();
    MixedPrecision(const MixedPrecision&) = delete;
    MixedPrecision& operator=(const MixedPrecision&) = delete;

   private:
    bool on_;
  };

 private:
  struct Staging;
  Device(torch::Device device, bool amp);

  torch::Device device_;
  bool amp_ = false;
  std::unique_ptr<Staging> staging_;  ///< GPUs only
};

}  // namespace lockstep::train
