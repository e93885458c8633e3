#include "lockstep/train/sgd.h"

#include "lockstep/base/simd.h"

namespace lockstep::train {
namespace {

LOCKSTEP_SIMD_CLONES
void step(float* __restrict p, const float* __restrict g, float* __restrict v, std::size_t count,
          float rate, float momentum, float decay) {
  for (std::size_t i = 0; i < count; ++i) {
    const float velocity = momentum * v[i] + (g[i] + decay * p[i]);
    v[i] = velocity;
    p[i] -= rate * velocity;
  }
}

}  // namespace

void sgd_step(std::span<float> parameters, std::span<const float> gradients,
              std::span<float> velocity, const SgdOptions& options) {
  step(parameters.data(), gradients.data(), velocity.data(), parameters.size(),
       options.learning_rate, options.momentum, options.weight_decay);
}

}  // namespace lockstep::train
