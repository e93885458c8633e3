#pragma once

#include <c10/core/Event.h>
#include <torch/torch.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::train {

/// Where a rank computes: the CPU, or a GPU of its host. Parameters, gradients and the optimizer's
/// state stay on it. All that is particular to GPUs is here, in the device functions of optimizer
/// rules and in comm/backends/c10d/nccl.cpp.
class Device {
 public:
  /// "cpu" or "cuda"; then the GPU of that number among those this process sees. Throws
  /// kEnvironment when there is no such GPU, or this LibTorch was built without CUDA.
  static Device open(const std::string& name, int gpu, bool amp);
  /// Throws as open() does for a GPU; to be called before ranks connect through their GPUs.
  static void require_gpu(int gpu);
  /// Makes the GPU the one that this thread uses where none is named. Otherwise each rank would
  /// also use memory of GPU 0, where "cuda" without a number is.
  static void make_current(int gpu);
  /// How many GPUs CUDA shows to this process; 0 without CUDA.
  static int visible_gpus();
  /// Which GPU of the host a visible one is, like "0000:3B:00.0"; empty where the CUDA runtime does
  /// not report it.
  static std::string pci_id_of(int gpu);

  torch::Device torch() const { return device_; }
  bool is_cpu() const { return device_.is_cpu(); }

  /// Makes memory that the device copies from while the host goes on; empty on a CPU, where any
  /// memory will do.
  std::function<std::shared_ptr<void>(std::size_t)> page_locked_memory() const;

  /// Tensors on their way to the device.
  struct Shipment {
    std::vector<torch::Tensor> tensors;
    std::shared_ptr<c10::Event> copied;
  };
  /// Begins to copy page-locked tensors to the device, on a stream of its own. Does not block; the
  /// memory must stay as it is until left(). On a CPU, the tensors themselves.
  Shipment ship(const std::vector<torch::Tensor>& host);
  /// Lets what the device computes from here on come after the copies. Does not block.
  void receive(const Shipment& shipment);
  /// Whether the copies are done, so that the memory of the host may be reused.
  static bool left(const Shipment& shipment);
  static void wait_until_left(const Shipment& shipment);

  /// Blocks until the device has done what it was given: without it a phase would end when its work
  /// is queued. Does nothing on a CPU, where work is done when a call returns.
  void wait() const;

  /// 10 times major plus minor of the GPU's compute capability, like 80; 0 where the CUDA runtime
  /// does not report it.
  int compute_capability() const;

  /// The type of MixedPrecision; bfloat16 unless set.
  void use_amp_type(torch::ScalarType type) { amp_type_ = type; }

  /// While it lives, operations for which 16 bits are enough run in them, if --amp was given.
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
  Device(torch::Device device, bool amp);

  torch::Device device_;
  bool amp_ = false;
  torch::ScalarType amp_type_ = torch::kBFloat16;
  std::optional<c10::Stream> copying_;  ///< GPUs only
};

}  // namespace lockstep::train
