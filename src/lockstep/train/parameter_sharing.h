#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lockstep/comm/communicator.h"
#include "lockstep/record/choices.h"

namespace lockstep::train {

using record::Strategy;

/// What makes ranks agree on parameters where the sum of gradients does not: rank 0 sends them to
/// all after each step (kCentral), or they are averaged now and then (kLocal). With the other
/// strategies every rank has done the same step on the same gradients, and there is nothing to do.
class ParameterSharing {
 public:
  /// `every`: steps between averages; 0 = at the end of each epoch only. `parameters` and `ballot`
  /// floats are what after_step() will be given. Collective.
  ParameterSharing(Strategy strategy, std::int64_t every, comm::Communicator& communicator,
                   std::size_t parameters, std::size_t ballot);

  /// Whether after_step() does anything to the parameters.
  bool needed() const { return strategy_ == Strategy::kCentral || strategy_ == Strategy::kLocal; }

  /// Whether this rank's optimizer moves its parameters.
  bool moves() const { return strategy_ != Strategy::kCentral || communicator_.rank() == 0; }

  /// Returns whether the ranks agree now; then `ballot` holds the sums of what they cast since they
  /// last did. Collective; blocks.
  bool after_step(std::span<float> parameters, std::span<float> ballot, bool last_of_epoch);

  /// Replaces the values, at most as many as the parameters, by their mean over ranks. Collective,
  /// blocks; kLocal only.
  void average(std::span<float> values);

 private:
  void sum(std::span<float> values, std::span<float> ballot);
  void sum_gathered(std::span<float> values, float factor);

  Strategy strategy_;
  std::int64_t every_;
  comm::Communicator& communicator_;
  std::span<float> shared_;    ///< kLocal: parameters, then a ballot; empty = on a device
  std::vector<float> unread_;  ///< kLocal: ballots since the last average
  std::int64_t since_ = 0;
};

}  // namespace lockstep::train
