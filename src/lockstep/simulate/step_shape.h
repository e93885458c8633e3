#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::simulate {

/// Gradients that are summed in one all-reduce.
struct Bucket {
  double bytes = 0;  ///< on the wire
  double ready = 1;  ///< share of backward that has gone by when the bucket is full
};

/// A step of one worker that has a device of its own, as measured or stated.
struct StepShape {
  double input_s = 0;  ///< waiting for the loader
  double forward_s = 0;
  double backward_s = 0;
  double other_s = 0;  ///< host to device, optimizer, the rest; after the exchange
  std::vector<Bucket> buckets;
  bool overlap = true;           ///< buckets are sent while backward goes on
  double hidden = 1;             ///< share of what overlap could hide that it does hide
  int accumulate = 1;            ///< A: forward and backward so often per exchange
  std::int64_t local_steps = 1;  ///< H: parameters are averaged every H steps instead
  double batch_per_worker = 0;   ///< b; 0 = not known

  /// Of one worker that exchanges nothing.
  double compute_s() const { return accumulate * (forward_s + backward_s) + other_s; }
  double gradient_bytes() const;
};

/// Work and gradients of one layer, in order of use.
struct LayerShare {
  double flops = 0;
  double parameters = 0;
};

/// Buckets of at least `bucket_bytes` of 32-bit gradients (0 = one bucket), in the order in which
/// backward fills them. With layers, a bucket is ready when backward has done their share of the
/// work; without, gradients appear at an even rate. `wire_factor` is the size on the wire relative
/// to 32 bits.
std::vector<Bucket> plan_buckets(double gradient_bytes, double bucket_bytes, double wire_factor,
                                 std::span<const LayerShare> layers = {});

}  // namespace lockstep::simulate
