#include "lockstep/train/adam.h"

#include <cmath>

#include "lockstep/base/simd.h"

namespace lockstep::train {
namespace {

/// The numbers of one step, so that the pass multiplies and never divides by what is the same for
/// all elements.
struct Factors {
  float keep;   ///< of the parameter: 1, or 1 - rate * decay for AdamW
  float decay;  ///< added to the gradient: 0 for AdamW
  float beta1;
  float beta2;
  float rate;    ///< learning rate / (1 - beta1^t)
  float unbias;  ///< 1 / sqrt(1 - beta2^t)
  float epsilon;
};

LOCKSTEP_SIMD_CLONES
void pass(float* __restrict p, const float* __restrict g, float* __restrict m, float* __restrict v,
          std::size_t count, const Factors f) {
  for (std::size_t i = 0; i < count; ++i) {
    const float gradient = g[i] + f.decay * p[i];
    const float first = f.beta1 * m[i] + (1 - f.beta1) * gradient;
    const float second = f.beta2 * v[i] + (1 - f.beta2) * gradient * gradient;
    m[i] = first;
    v[i] = second;
    p[i] = f.keep * p[i] - f.rate * first / (std::sqrt(second) * f.unbias + f.epsilon);
  }
}

class Adam final : public Optimizer {
 public:
  Adam(const OptimizerOptions& options, std::size_t count, bool decoupled)
      : options_(options), decoupled_(decoupled), first_(count), second_(count) {}

  std::vector<OptimizerMemory> memory() override {
    return {{"first_moment", first_}, {"second_moment", second_}};
  }

 private:
  void apply(std::span<float> parameters, std::span<const float> gradients,
             double learning_rate) override {
    const auto t = static_cast<double>(steps());
    const double bias1 = 1 - std::pow(options_.beta1, t), bias2 = 1 - std::pow(options_.beta2, t);
    const double decay = options_.weight_decay;
    pass(parameters.data(), gradients.data(), first_.data(), second_.data(), parameters.size(),
         {.keep = static_cast<float>(decoupled_ ? 1 - learning_rate * decay : 1),
          .decay = static_cast<float>(decoupled_ ? 0 : decay),
          .beta1 = static_cast<float>(options_.beta1),
          .beta2 = static_cast<float>(options_.beta2),
          .rate = static_cast<float>(learning_rate / bias1),
          .unbias = static_cast<float>(1 / std::sqrt(bias2)),
          .epsilon = static_cast<float>(options_.epsilon)});
  }

  OptimizerOptions options_;
  bool decoupled_;
  std::vector<float> first_;
  std::vector<float> second_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adam(const OptimizerOptions& options, std::size_t count) {
  return std::make_unique<Adam>(options, count, false);
}

std::unique_ptr<Optimizer> make_adamw(const OptimizerOptions& options, std::size_t count) {
  return std::make_unique<Adam>(options, count, true);
}

}  // namespace lockstep::train
