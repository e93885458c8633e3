#pragma once

#include <torch/torch.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <span>

#include "lockstep/comm/wire/rounded_exchange.h"

namespace lockstep::comm {

/// One all-reduce of floats that travel in 16 bits, over Gloo. c10d numbers collectives in the
/// order in which they are issued, so the all-gather is issued by proceed(), which all ranks call
/// in one order, after the all-to-all of every sum.
class RoundedSum {
 public:
  /// Issues the all-to-all. `values` must stay valid until finish().
  RoundedSum(c10d::ProcessGroupGloo& group, std::span<float> values, Wire wire);

  c10d::Work& work() const { return *work_; }
  /// Once work() is done: sums and issues the all-gather.
  void proceed();
  /// Once work() is done again: writes the sums into the values.
  void finish() { exchange_.store(); }

 private:
  c10d::ProcessGroupGloo& group_;
  RoundedExchange exchange_;
  c10::intrusive_ptr<c10d::Work> work_;
};

/// A tensor on memory that it does not own.
at::Tensor as_tensor(std::span<const std::byte> bytes);

}  // namespace lockstep::comm
