#pragma once

#include <torch/torch.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <cstdint>
#include <span>
#include <vector>

#include "lockstep/comm/half_floats.h"
#include "lockstep/comm/rounded_message.h"

namespace lockstep::comm {

/// One all-reduce of floats that travel in 16 bits, as Gloo itself cannot do it: each rank gets its
/// part of the values from all (all-to-all), adds it up as floats in rank order, and sends the sum
/// to all (all-gather). 2 (N-1)/N S bytes a rank for S bytes of 16-bit values, as a ring has.
/// Rounded twice: before the sum, and after it.
///
/// Steps are numbered by c10d in order of issue, so the second one is issued when every rank is
/// sure to have issued the same before it: by meet(), which blocks, and which all call in one
/// order.
class RoundedSum {
 public:
  /// Issues the first exchange. `values` must stay until finish().
  RoundedSum(c10d::ProcessGroupGloo& group, std::span<float> values, Wire wire);

  /// Waits for the first exchange, adds up and issues the second.
  void meet();
  /// Waits for the second and puts the sums into the values.
  void finish();

 private:
  std::size_t message_bytes() const { return rounded_message_bytes(part_); }
  std::span<float> part_of(std::size_t rank) const;

  c10d::ProcessGroupGloo& group_;
  std::span<float> values_;
  Wire wire_;
  std::size_t ranks_;
  std::size_t part_;  ///< floats a rank adds up
  at::Tensor sent_;
  at::Tensor received_;
  c10::intrusive_ptr<c10d::Work> work_;
};

}  // namespace lockstep::comm
