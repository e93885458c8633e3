#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "lockstep/job.h"

namespace lockstep {

/// An optimizer whose state is divided among ranks (ZeRO stage 1): each rank updates its share of
/// the parameters, whole tensors of about equal total size, and all ranks get the result. The state
/// takes 1/N of the memory, and the steps are those of the plain optimizer.
///
///   auto optimizer = lockstep::shard<torch::optim::Adam>(job, net->parameters(),
///                                                       torch::optim::AdamOptions(1e-3));
///
/// Gradients must be the same on all ranks, as DataParallel leaves them.
class ShardedOptimizer {
 public:
  /// Makes the optimizer of some of the parameters; called with the same result on all ranks. It
  /// may divide them into groups, always the same number of them.
  using Make = std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<torch::Tensor>)>;

  /// Collective. `parameters` that are frozen are left out.
  ShardedOptimizer(const Job& job, std::vector<torch::Tensor> parameters, Make make);
  ~ShardedOptimizer();
  ShardedOptimizer(ShardedOptimizer&&) noexcept;
  ShardedOptimizer& operator=(ShardedOptimizer&&) noexcept;

  /// As that of LibTorch's optimizers: gradients become zero, and from LibTorch 2.0 on none.
  void zero_grad();
  /// Updates this rank's share and gives it to all ranks. Collective.
  void step();

  /// The optimizer of this rank's share, for example to set a learning rate or for a schedule of
  /// torch::optim, on all ranks alike.
  torch::optim::Optimizer& local();

  /// The state of all ranks as the plain optimizer would save it: gather() on all ranks, then
  /// save() on any. load() takes what save() or the plain optimizer wrote, with the options.
  void gather();
  void save(torch::serialize::OutputArchive& archive) const;
  void load(torch::serialize::InputArchive& archive);

 private:
  class Shards;
  std::unique_ptr<Shards> shards_;
};

template <class Optimizer, class Options>
ShardedOptimizer shard(const Job& job, std::vector<torch::Tensor> parameters, Options options) {
  return ShardedOptimizer(job, std::move(parameters), [options](std::vector<torch::Tensor> share) {
    return std::unique_ptr<torch::optim::Optimizer>(new Optimizer(std::move(share), options));
  });
}

}  // namespace lockstep
