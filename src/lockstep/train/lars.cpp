#include "lockstep/train/lars.h"

#include <cmath>

#include "lockstep/base/simd.h"
#include "lockstep/train/sum_of_squares.h"

namespace lockstep::train {
namespace {

LOCKSTEP_SIMD_CLONES
void pass(float* __restrict p, const float* __restrict g, float* __restrict v, std::size_t count,
          float rate, float momentum, float decay) {
  for (std::size_t i = 0; i < count; ++i) {
    const float velocity = momentum * v[i] + rate * (g[i] + decay * p[i]);
    v[i] = velocity;
    p[i] -= velocity;
  }
}

class Lars final : public Optimizer {
 public:
  Lars(const OptimizerOptions& options, std::vector<TensorRange> tensors, std::size_t count)
      : options_(options), tensors_(std::move(tensors)), velocity_(count) {}

  std::vector<OptimizerMemory> memory() override { return {{"velocity", velocity_}}; }

 private:
  void apply(std::span<float> parameters, std::span<const float> gradients,
             double learning_rate) override {
    for (const TensorRange& tensor : tensors_) {
      float* p = parameters.data() + tensor.begin;
      const float* g = gradients.data() + tensor.begin;
      const double decay = tensor.adapted ? options_.weight_decay : 0;
      const double rate =
          learning_rate * (tensor.adapted ? local_rate(p, g, tensor.count) : options_.trust);
      pass(p, g, velocity_.data() + tensor.begin, tensor.count, static_cast<float>(rate),
           static_cast<float>(options_.momentum), static_cast<float>(decay));
    }
  }

  /// A tensor of zeros has no size to take a share of, and without a gradient none is needed.
  double local_rate(const float* p, const float* g, std::size_t count) const {
    const double size = std::sqrt(sum_of_squares(p, count));
    const double slope = std::sqrt(sum_of_squares(g, count)) + options_.weight_decay * size;
    return size > 0 && slope > 0 ? options_.trust * size / slope : options_.trust;
  }

  OptimizerOptions options_;
  std::vector<TensorRange> tensors_;
  std::vector<float> velocity_;
};

}  // namespace

std::unique_ptr<Optimizer> make_lars(const OptimizerOptions& options,
                                     std::vector<TensorRange> tensors, std::size_t count) {
  return std::make_unique<Lars>(options, std::move(tensors), count);
}

}  // namespace lockstep::train
