#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lockstep/comm/communicator.h"
#include "lockstep/record/choices.h"

namespace lockstep::train {

using record::Strategy;

/// Makes ranks agree on parameters where the sum of gradients does not: rank 0 sends them to all
/// after each step (kCentral), or they are averaged every few steps (kLocal). With the other
/// strategies every rank has done the same step on the same gradients, and nothing is left to do.
class ParameterSharing {
 public:
  /// `every`: steps between averages; 0 = at the end of each epoch only. `parameters` and `status`
  /// are the lengths of what after_step() is given. Collective.
  ParameterSharing(Strategy strategy, std::int64_t every, comm::Communicator& communicator,
                   std::size_t parameters, std::size_t status);

  /// Whether after_step() does anything to the parameters.
  bool needed() const { return strategy_ == Strategy::kCentral || strategy_ == Strategy::kLocal; }

  /// Whether the optimizer of this rank updates its parameters.
  bool updates() const { return strategy_ != Strategy::kCentral || communicator_.rank() == 0; }

  /// Returns whether the ranks agree now; then `status` contains the sums of what they published
  /// since they last agreed. Collective; blocks.
  bool after_step(std::span<float> parameters, std::span<float> status, bool last_of_epoch);

  /// Replaces the values, at most as many as the parameters, by their mean over ranks. Collective,
  /// blocks; kLocal only.
  void average(std::span<float> values);

 private:
  void sum(std::span<float> values, std::span<float> status);
  void sum_gathered(std::span<float> values, float factor);

  Strategy strategy_;
  std::int64_t every_;
  comm::Communicator& communicator_;
  std::span<float> shared_;    ///< kLocal: parameters, then a status; empty = on a device
  std::vector<float> unread_;  ///< kLocal: statuses since the last average
  std::int64_t since_ = 0;
};

}  // namespace lockstep::train
