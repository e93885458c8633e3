#include "lockstep/train/tensor_optimizer.h"

namespace lockstep::train {
namespace {

std::span<float> floats_of(const torch::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

class HostOptimizer final : public TensorOptimizer {
 public:
  explicit HostOptimizer(std::unique_ptr<Optimizer> optimizer) : optimizer_(std::move(optimizer)) {}

  void step(const torch::Tensor& parameters, const torch::Tensor& gradients,
            double learning_rate) override {
    optimizer_->step(floats_of(parameters), floats_of(gradients), learning_rate);
  }

  std::vector<TensorMemory> memory() override {
    std::vector<TensorMemory> all;
    for (const OptimizerMemory& memory : optimizer_->memory()) {
      all.push_back({memory.name,
                     torch::from_blob(memory.values.data(),
                                      {static_cast<std::int64_t>(memory.values.size())}),
                     memory.begin});
    }
    return all;
  }

  std::int64_t steps() const override { return optimizer_->steps(); }
  void set_steps(std::int64_t steps) override { optimizer_->set_steps(steps); }

 private:
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace

std::unique_ptr<TensorOptimizer> make_host_optimizer(const OptimizerOptions& options,
                                                     std::vector<RateGroup> groups,
                                                     const std::vector<TensorRange>& tensors,
                                                     std::size_t count) {
  return std::make_unique<HostOptimizer>(
      make_grouped_optimizer(options, std::move(groups), tensors, count));
}

}  // namespace lockstep::train
