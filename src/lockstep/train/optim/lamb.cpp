#include <ATen/TensorOperators.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>

#include "lockstep/base/simd.h"
#include "lockstep/train/optim/bias_correction.h"
#include "lockstep/train/optim/optimizer_rule.h"
#include "lockstep/train/optim/sum_of_squares.h"
#include "lockstep/train/optim/tensor_norms.h"

// LAMB (You et al. 2020): Adam's direction plus decoupled decay, u, taken at the rate times
// |p| / |u| for each tensor. Tensors that are not adapted take Adam's step without decay.
namespace lockstep::train {
namespace {

constexpr double kLambEpsilon = 1e-6;
/// Floats that stay in the first-level cache between the direction and its norm.
constexpr std::size_t kLambBlock = 1024;

struct LambFactors {
  float beta1, beta2;
  float unbias1, unbias2;  ///< 1 / (1 - beta1^t), 1 / sqrt(1 - beta2^t)
  float decay;
};

LOCKSTEP_SIMD_CLONES
void lamb_directions(const float* __restrict p, const float* __restrict g, float* __restrict m,
                     float* __restrict v, float* __restrict direction, std::size_t count,
                     const LambFactors f) {
  for (std::size_t i = 0; i < count; ++i) {
    const float first = f.beta1 * m[i] + (1 - f.beta1) * g[i];
    const float second = f.beta2 * v[i] + (1 - f.beta2) * g[i] * g[i];
    m[i] = first;
    v[i] = second;
    direction[i] =
        f.unbias1 * first / (std::sqrt(second) * f.unbias2 + static_cast<float>(kLambEpsilon)) +
        f.decay * p[i];
  }
}

LOCKSTEP_SIMD_CLONES
void lamb_move(float* __restrict p, const float* __restrict direction, std::size_t count,
               float rate) {
  for (std::size_t i = 0; i < count; ++i) p[i] -= rate * direction[i];
}

/// Fills `direction` and returns |p| / |u|; 1 where either is zero.
double find_directions(const HostUpdate& u, const LambFactors& factors, float* direction) {
  double size = 0, length = 0;
  for (std::size_t at = 0; at < u.parameters.size(); at += kLambBlock) {
    const std::size_t count = std::min(kLambBlock, u.parameters.size() - at);
    lamb_directions(u.parameters.data() + at, u.gradients.data() + at, u.first.data() + at,
                    u.second.data() + at, direction + at, count, factors);
    size += sum_of_squares(u.parameters.data() + at, count);
    length += sum_of_squares(direction + at, count);
  }
  return size > 0 && length > 0 ? std::sqrt(size / length) : 1;
}

void lamb_on_host(const HostUpdate& u, const OptimizerOptions& o) {
  // Kept between calls: a tensor may have millions of elements.
  static thread_local std::vector<float> direction;
  direction.resize(std::max(direction.size(), u.parameters.size()));
  const BiasCorrection bias(o, u.step);
  const double ratio =
      find_directions(u,
                      {.beta1 = static_cast<float>(o.beta1),
                       .beta2 = static_cast<float>(o.beta2),
                       .unbias1 = static_cast<float>(1 / bias.first),
                       .unbias2 = static_cast<float>(1 / std::sqrt(bias.second)),
                       .decay = static_cast<float>(u.adapted ? o.weight_decay : 0)},
                      direction.data());
  lamb_move(u.parameters.data(), direction.data(), u.parameters.size(),
            static_cast<float>(u.rate * (u.adapted ? ratio : 1)));
}

void lamb_on_device(const DeviceUpdate& u, const OptimizerOptions& o) {
  const BiasCorrection bias(o, u.step);
  update_moments(u, u.gradients, o);
  const auto spread = u.second.sqrt().mul_(1 / std::sqrt(bias.second)).add_(kLambEpsilon);
  auto step = u.first.div(spread).mul_(1 / bias.first);
  const auto steps = u.adapted_parts(step), parameters = u.adapted_parts(u.parameters);
  if (!steps.empty()) {
    at::_foreach_add_(steps, parameters, o.weight_decay);
    scale_each(steps, ratio_or_one(norms_of(parameters), norms_of(steps)));
  }
  u.parameters.sub_(step, u.rate);
}

}  // namespace

OptimizerRule lamb_rule() {
  return {.state = {"first_moment", "second_moment"},
          .by_tensor = true,
          .host = lamb_on_host,
          .device = lamb_on_device};
}

}  // namespace lockstep::train
