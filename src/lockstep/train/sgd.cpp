#include "lockstep/train/sgd.h"

#include "lockstep/base/simd.h"

namespace lockstep::train {
namespace {

LOCKSTEP_SIMD_CLONES
void pass(float* __restrict p, const float* __restrict g, float* __restrict v, std::size_t count,
          float rate, float momentum, float decay) {
  for (std::size_t i = 0; i < count; ++i) {
    const float velocity = momentum * v[i] + (g[i] + decay * p[i]);
    v[i] = velocity;
    p[i] -= rate * velocity;
  }
}

class Sgd final : public Optimizer {
 public:
  Sgd(const OptimizerOptions& options, std::size_t count)
      : momentum_(static_cast<float>(options.momentum)),
        weight_decay_(static_cast<float>(options.weight_decay)),
        velocity_(count) {}

  std::vector<OptimizerMemory> memory() override { return {{"velocity", velocity_}}; }

 private:
  void apply(std::span<float> parameters, std::span<const float> gradients,
             double learning_rate) override {
    sgd_step(parameters, gradients, velocity_,
             {static_cast<float>(learning_rate), momentum_, weight_decay_});
  }

  float momentum_;
  float weight_decay_;
  std::vector<float> velocity_;
};

}  // namespace

void sgd_step(std::span<float> parameters, std::span<const float> gradients,
              std::span<float> velocity, const SgdOptions& options) {
  pass(parameters.data(), gradients.data(), velocity.data(), parameters.size(),
       options.learning_rate, options.momentum, options.weight_decay);
}

std::unique_ptr<Optimizer> make_sgd(const OptimizerOptions& options, std::size_t count) {
  return std::make_unique<Sgd>(options, count);
}

}  // namespace lockstep::train
