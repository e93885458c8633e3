#include "lockstep/train/lamb.h"

#include <algorithm>
#include <cmath>

#include "lockstep/base/simd.h"
#include "lockstep/train/sum_of_squares.h"

namespace lockstep::train {
namespace {

constexpr double kEpsilon = 1e-6;
/// Floats that stay in the first-level cache between the direction and its norm.
constexpr std::size_t kBlock = 1024;

struct Factors {
  float beta1, beta2;
  float unbias1, unbias2;  ///< 1 / (1 - beta1^t), 1 / sqrt(1 - beta2^t)
  float decay;
};

LOCKSTEP_SIMD_CLONES
void direct(const float* __restrict p, const float* __restrict g, float* __restrict m,
            float* __restrict v, float* __restrict direction, std::size_t count, const Factors f) {
  for (std::size_t i = 0; i < count; ++i) {
    const float first = f.beta1 * m[i] + (1 - f.beta1) * g[i];
    const float second = f.beta2 * v[i] + (1 - f.beta2) * g[i] * g[i];
    m[i] = first;
    v[i] = second;
    direction[i] =
        f.unbias1 * first / (std::sqrt(second) * f.unbias2 + static_cast<float>(kEpsilon)) +
        f.decay * p[i];
  }
}

LOCKSTEP_SIMD_CLONES
void move(float* __restrict p, const float* __restrict direction, std::size_t count, float rate) {
  for (std::size_t i = 0; i < count; ++i) p[i] -= rate * direction[i];
}

class Lamb final : public Optimizer {
 public:
  Lamb(const OptimizerOptions& options, std::vector<TensorRange> tensors, std::size_t count)
      : options_(options), tensors_(std::move(tensors)), first_(count), second_(count) {
    std::size_t largest = 0;
    for (const TensorRange& tensor : tensors_) largest = std::max(largest, tensor.count);
    direction_.resize(largest);
  }

  std::vector<OptimizerMemory> memory() override {
    return {{"first_moment", first_}, {"second_moment", second_}};
  }

 private:
  void apply(std::span<float> parameters, std::span<const float> gradients,
             double learning_rate) override {
    const auto t = static_cast<double>(steps());
    Factors factors{.beta1 = static_cast<float>(options_.beta1),
                    .beta2 = static_cast<float>(options_.beta2),
                    .unbias1 = static_cast<float>(1 / (1 - std::pow(options_.beta1, t))),
                    .unbias2 = static_cast<float>(1 / std::sqrt(1 - std::pow(options_.beta2, t))),
                    .decay = 0};
    for (const TensorRange& tensor : tensors_) {
      factors.decay = tensor.adapted ? static_cast<float>(options_.weight_decay) : 0.0F;
      const double ratio = find_direction(parameters.data(), gradients.data(), tensor, factors);
      move(parameters.data() + tensor.begin, direction_.data(), tensor.count,
           static_cast<float>(learning_rate * (tensor.adapted ? ratio : 1)));
    }
  }

  /// Fills direction_ and returns |p| / |u|; 1 where either is zero.
  double find_direction(const float* parameters, const float* gradients, const TensorRange& tensor,
                        const Factors& factors) {
    double size = 0, length = 0;
    for (std::size_t at = 0; at < tensor.count; at += kBlock) {
      const std::size_t begin = tensor.begin + at, count = std::min(kBlock, tensor.count - at);
      direct(parameters + begin, gradients + begin, first_.data() + begin, second_.data() + begin,
             direction_.data() + at, count, factors);
      size += sum_of_squares(parameters + begin, count);
      length += sum_of_squares(direction_.data() + at, count);
    }
    return size > 0 && length > 0 ? std::sqrt(size / length) : 1;
  }

  OptimizerOptions options_;
  std::vector<TensorRange> tensors_;
  std::vector<float> first_;
  std::vector<float> second_;
  std::vector<float> direction_;
};

}  // namespace

std::unique_ptr<Optimizer> make_lamb(const OptimizerOptions& options,
                                     std::vector<TensorRange> tensors, std::size_t count) {
  return std::make_unique<Lamb>(options, std::move(tensors), count);
}

}  // namespace lockstep::train
