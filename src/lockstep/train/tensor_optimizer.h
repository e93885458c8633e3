#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/train/grouped_optimizer.h"
#include "lockstep/train/optimizer.h"

namespace lockstep::train {

/// One of an optimizer's buffers, laid out as the parameters are, on their device.
struct TensorMemory {
  std::string name;  ///< as in OptimizerMemory
  torch::Tensor values;
  std::size_t begin = 0;  ///< where in the flat buffer they begin
};

/// An Optimizer of flat tensors, on whatever device they are.
class TensorOptimizer {
 public:
  virtual ~TensorOptimizer() = default;
  TensorOptimizer(const TensorOptimizer&) = delete;
  TensorOptimizer& operator=(const TensorOptimizer&) = delete;

  /// Both are flat, of the length given when it was made. On a GPU it only queues the work.
  virtual void step(const torch::Tensor& parameters, const torch::Tensor& gradients,
                    double learning_rate) = 0;
  virtual std::vector<TensorMemory> memory() = 0;
  virtual std::int64_t steps() const = 0;
  virtual void set_steps(std::int64_t steps) = 0;

 protected:
  TensorOptimizer() = default;
};

/// On the CPU: make_grouped_optimizer(), whose passes are made for its vectors.
std::unique_ptr<TensorOptimizer> make_host_optimizer(const OptimizerOptions& options,
                                                     std::vector<RateGroup> groups,
                                                     const std::vector<TensorRange>& tensors,
                                                     std::size_t count);

/// The same five rules in tensor operations, for GPUs; they run on a CPU as well, only slower. The
/// host waits for none of them: norms of LARS and LAMB stay on the device.
std::unique_ptr<TensorOptimizer> make_device_optimizer(const OptimizerOptions& options,
                                                       std::vector<RateGroup> groups,
                                                       std::vector<TensorRange> tensors,
                                                       std::size_t count, torch::Device device);

}  // namespace lockstep::train
