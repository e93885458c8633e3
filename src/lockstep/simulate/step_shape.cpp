#include "lockstep/simulate/step_shape.h"

#include <algorithm>
#include <cmath>

namespace lockstep::simulate {
namespace {

/// More buckets than this are joined: they would only make the plan longer.
constexpr double kMostBuckets = 4096;

std::vector<Bucket> even_buckets(double gradient_bytes, double bucket_bytes, double wire_factor) {
  const double count =
      std::clamp(std::ceil(gradient_bytes / bucket_bytes - 1e-9), 1.0, kMostBuckets);
  std::vector<Bucket> buckets;
  double sent = 0;
  for (double k = 1; k <= count; ++k) {
    const double until = k < count ? k * gradient_bytes / count : gradient_bytes;
    buckets.push_back({(until - sent) * wire_factor, until / gradient_bytes});
    sent = until;
  }
  return buckets;
}

std::vector<Bucket> layer_buckets(double gradient_bytes, double bucket_bytes, double wire_factor,
                                  std::span<const LayerShare> layers) {
  double flops = 0;
  double parameters = 0;
  for (const LayerShare& layer : layers) {
    flops += layer.flops;
    parameters += layer.parameters;
  }
  std::vector<Bucket> buckets;
  double filled = 0;
  double done = 0;
  // Backward visits the layers in reverse; their gradients are scaled to the stated total.
  for (std::size_t i = layers.size(); i-- > 0;) {
    done += layers[i].flops;
    filled += layers[i].parameters / parameters * gradient_bytes;
    if (filled < bucket_bytes && i > 0) continue;
    if (filled > 0) buckets.push_back({filled * wire_factor, done / flops});
    filled = 0;
  }
  if (!buckets.empty()) buckets.back().ready = 1;
  return buckets;
}

}  // namespace

double StepShape::gradient_bytes() const {
  double sum = 0;
  for (const Bucket& bucket : buckets) sum += bucket.bytes;
  return sum;
}

std::vector<Bucket> plan_buckets(double gradient_bytes, double bucket_bytes, double wire_factor,
                                 std::span<const LayerShare> layers) {
  if (!(gradient_bytes > 0)) return {};
  if (!(bucket_bytes > 0)) bucket_bytes = gradient_bytes;
  const bool known = std::any_of(layers.begin(), layers.end(), [](const LayerShare& layer) {
    return layer.flops > 0 && layer.parameters > 0;
  });
  return known ? layer_buckets(gradient_bytes, bucket_bytes, wire_factor, layers)
               : even_buckets(gradient_bytes, bucket_bytes, wire_factor);
}

}  // namespace lockstep::simulate
