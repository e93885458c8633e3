#include <ATen/TensorOperators.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>

#include <cmath>

#include "lockstep/base/simd.h"
#include "lockstep/train/optim/optimizer_rule.h"
#include "lockstep/train/optim/sum_of_squares.h"
#include "lockstep/train/optim/tensor_norms.h"

// LARS (You, Gitman and Ginsburg 2017): SGD with momentum whose rate is scaled for each tensor by
// trust * |p| / (|g| + weight_decay * |p|), so that no layer moves by a larger fraction of itself
// than another. Tensors that are not adapted take a plain momentum step without decay, at the rate
// times `trust`: the rates of LARS are made for the scaled ones.
namespace lockstep::train {
namespace {

LOCKSTEP_SIMD_CLONES
void lars_pass(float* __restrict p, const float* __restrict g, float* __restrict v,
               std::size_t count, float rate, float momentum, float decay) {
  for (std::size_t i = 0; i < count; ++i) {
    const float velocity = momentum * v[i] + rate * (g[i] + decay * p[i]);
    v[i] = velocity;
    p[i] -= velocity;
  }
}

/// A tensor of zeros has no size to take a fraction of, and without a gradient none is needed.
double local_rate(const HostUpdate& u, const OptimizerOptions& o) {
  const double size = std::sqrt(sum_of_squares(u.parameters.data(), u.parameters.size()));
  const double slope =
      std::sqrt(sum_of_squares(u.gradients.data(), u.gradients.size())) + o.weight_decay * size;
  return size > 0 && slope > 0 ? o.trust * size / slope : o.trust;
}

void lars_on_host(const HostUpdate& u, const OptimizerOptions& o) {
  const double rate = u.rate * (u.adapted ? local_rate(u, o) : o.trust);
  lars_pass(u.parameters.data(), u.gradients.data(), u.first.data(), u.parameters.size(),
            static_cast<float>(rate), static_cast<float>(o.momentum),
            static_cast<float>(u.adapted ? o.weight_decay : 0));
}

void lars_on_device(const DeviceUpdate& u, const OptimizerOptions& o) {
  auto step = u.gradients.clone();
  const auto steps = u.adapted_parts(step), parameters = u.adapted_parts(u.parameters);
  if (!steps.empty()) {
    const auto size = norms_of(parameters);
    const auto slope = norms_of(steps).add_(size, o.weight_decay);  // of the gradients, so far
    at::_foreach_add_(steps, parameters, o.weight_decay);
    scale_each(steps, ratio_or_one(size, slope));
  }
  u.first.mul_(o.momentum).add_(step, u.rate * o.trust);
  u.parameters.sub_(u.first);
}

}  // namespace

OptimizerRule lars_rule() {
  return {.state = {"velocity"}, .by_tensor = true, .host = lars_on_host, .device = lars_on_device};
}

}  // namespace lockstep::train
