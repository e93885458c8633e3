#include <cmath>

#include "lockstep/base/simd.h"
#include "lockstep/train/optim/bias_correction.h"
#include "lockstep/train/optim/optimizer_rule.h"

// Adam (Kingma and Ba 2015) as torch::optim::Adam defines it, with weight decay added to the
// gradient, and AdamW (Loshchilov and Hutter 2019) as torch::optim::AdamW defines it, where weights
// shrink by learning_rate * weight_decay, apart from the gradient ("decoupled").
namespace lockstep::train {
namespace {

/// The numbers of one step, so that the pass multiplies and never divides by what is the same for
/// all elements.
struct AdamFactors {
  float keep;   ///< of the parameter: 1, or 1 - rate * decay for AdamW
  float decay;  ///< added to the gradient: 0 for AdamW
  float beta1;
  float beta2;
  float rate;    ///< learning rate / (1 - beta1^t)
  float unbias;  ///< 1 / sqrt(1 - beta2^t)
  float epsilon;
};

LOCKSTEP_SIMD_CLONES
void adam_pass(float* __restrict p, const float* __restrict g, float* __restrict m,
               float* __restrict v, std::size_t count, const AdamFactors f) {
  for (std::size_t i = 0; i < count; ++i) {
    const float gradient = g[i] + f.decay * p[i];
    const float first = f.beta1 * m[i] + (1 - f.beta1) * gradient;
    const float second = f.beta2 * v[i] + (1 - f.beta2) * gradient * gradient;
    m[i] = first;
    v[i] = second;
    p[i] = f.keep * p[i] - f.rate * first / (std::sqrt(second) * f.unbias + f.epsilon);
  }
}

template <bool decoupled>
void adam_on_host(const HostUpdate& u, const OptimizerOptions& o) {
  const BiasCorrection bias(o, u.step);
  adam_pass(u.parameters.data(), u.gradients.data(), u.first.data(), u.second.data(),
            u.parameters.size(),
            {.keep = static_cast<float>(decoupled ? 1 - u.rate * o.weight_decay : 1),
             .decay = static_cast<float>(decoupled ? 0 : o.weight_decay),
             .beta1 = static_cast<float>(o.beta1),
             .beta2 = static_cast<float>(o.beta2),
             .rate = static_cast<float>(u.rate / bias.first),
             .unbias = static_cast<float>(1 / std::sqrt(bias.second)),
             .epsilon = static_cast<float>(o.epsilon)});
}

template <bool decoupled>
void adam_on_device(const DeviceUpdate& u, const OptimizerOptions& o) {
  const BiasCorrection bias(o, u.step);
  update_moments(u, decoupled ? u.gradients : u.gradients.add(u.parameters, o.weight_decay), o);
  if (decoupled) u.parameters.mul_(1 - u.rate * o.weight_decay);
  const auto spread = u.second.sqrt().mul_(1 / std::sqrt(bias.second)).add_(o.epsilon);
  u.parameters.addcdiv_(u.first, spread, -u.rate / bias.first);
}

}  // namespace

OptimizerRule adam_rule() {
  return {.state = {"first_moment", "second_moment"},
          .host = adam_on_host<false>,
          .device = adam_on_device<false>};
}

OptimizerRule adamw_rule() {
  return {.state = {"first_moment", "second_moment"},
          .host = adam_on_host<true>,
          .device = adam_on_device<true>};
}

}  // namespace lockstep::train
