#include "lockstep/train/grouped_optimizer.h"

namespace lockstep::train {
namespace {

class GroupedOptimizer final : public Optimizer {
 public:
  GroupedOptimizer(const OptimizerOptions& options, const std::vector<RateGroup>& groups,
                   const std::vector<TensorRange>& tensors) {
    for (const RateGroup& group : groups) {
      std::vector<TensorRange> inside;
      for (TensorRange tensor : tensors) {
        if (tensor.begin < group.begin || tensor.begin >= group.end) continue;
        tensor.begin -= group.begin;
        inside.push_back(tensor);
      }
      parts_.push_back(
          {group, make_optimizer(options, std::move(inside), group.end - group.begin)});
    }
  }

  std::vector<OptimizerMemory> memory() override {
    std::vector<OptimizerMemory> all;
    for (Part& part : parts_) {
      for (OptimizerMemory memory : part.optimizer->memory()) {
        memory.begin += part.group.begin;
        all.push_back(memory);
      }
    }
    return all;
  }

 private:
  struct Part {
    RateGroup group;
    std::unique_ptr<Optimizer> optimizer;
  };

  void apply(std::span<float> parameters, std::span<const float> gradients,
             double learning_rate) override {
    for (Part& part : parts_) {
      const auto [begin, end, rate] = part.group;
      part.optimizer->set_steps(steps() - 1);
      part.optimizer->step(parameters.subspan(begin, end - begin),
                           gradients.subspan(begin, end - begin), learning_rate * rate);
    }
  }

  std::vector<Part> parts_;
};

}  // namespace

std::unique_ptr<Optimizer> make_grouped_optimizer(const OptimizerOptions& options,
                                                  std::vector<RateGroup> groups,
                                                  const std::vector<TensorRange>& tensors,
                                                  std::size_t count) {
  if (groups.size() == 1 && groups[0].rate == 1) return make_optimizer(options, tensors, count);
  return std::make_unique<GroupedOptimizer>(options, groups, tensors);
}

}  // namespace lockstep::train
