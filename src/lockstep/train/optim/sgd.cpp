#include "lockstep/base/simd.h"
#include "lockstep/train/optim/optimizer_rule.h"

// SGD with momentum and weight decay as torch::optim::SGD defines it:
// g = gradient + weight_decay * p; v = momentum * v + g; p = p - learning_rate * v.
namespace lockstep::train {
namespace {

LOCKSTEP_SIMD_CLONES
void sgd_pass(float* __restrict p, const float* __restrict g, float* __restrict v,
              std::size_t count, float rate, float momentum, float decay) {
  for (std::size_t i = 0; i < count; ++i) {
    const float velocity = momentum * v[i] + (g[i] + decay * p[i]);
    v[i] = velocity;
    p[i] -= rate * velocity;
  }
}

void sgd_on_host(const HostUpdate& u, const OptimizerOptions& o) {
  sgd_pass(u.parameters.data(), u.gradients.data(), u.first.data(), u.parameters.size(),
           static_cast<float>(u.rate), static_cast<float>(o.momentum),
           static_cast<float>(o.weight_decay));
}

void sgd_on_device(const DeviceUpdate& u, const OptimizerOptions& o) {
  u.first.mul_(o.momentum).add_(u.gradients).add_(u.parameters, o.weight_decay);
  u.parameters.sub_(u.first, u.rate);
}

}  // namespace

OptimizerRule sgd_rule() {
  return {.state = {"velocity"}, .host = sgd_on_host, .device = sgd_on_device};
}

}  // namespace lockstep::train
