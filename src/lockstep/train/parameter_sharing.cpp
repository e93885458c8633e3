#include "lockstep/train/parameter_sharing.h"

#include <algorithm>

#include "lockstep/train/step_ballot.h"

namespace lockstep::train {

ParameterSharing::ParameterSharing(Strategy strategy, std::int64_t every,
                                   comm::Communicator& communicator, std::size_t parameters,
                                   std::size_t ballot)
    : strategy_(strategy), every_(every), communicator_(communicator) {
  if (strategy_ != Strategy::kLocal) return;
  shared_ = communicator_.allocate(parameters + ballot);
  unread_.assign(ballot, 0.0F);
}

bool ParameterSharing::after_step(std::span<float> parameters, std::span<float> ballot,
                                  bool last_of_epoch) {
  if (strategy_ == Strategy::kCentral) {
    communicator_.broadcast(std::as_writable_bytes(parameters), 0);
    communicator_.broadcast(std::as_writable_bytes(ballot), 0);
    return true;
  }
  if (strategy_ != Strategy::kLocal) return true;
  StepBallot(ballot).add_unread(unread_);
  if (++since_ != every_ && !last_of_epoch) {
    std::copy(ballot.begin(), ballot.end(), unread_.begin());
    return false;
  }
  since_ = 0;
  std::fill(unread_.begin(), unread_.end(), 0.0F);
  sum(parameters, ballot);
  return true;
}

void ParameterSharing::average(std::span<float> values) {
  sum(values, {});
}

void ParameterSharing::sum(std::span<float> values, std::span<float> ballot) {
  const auto shared = shared_.first(values.size() + ballot.size());
  const auto middle = std::copy(values.begin(), values.end(), shared.begin());
  std::copy(ballot.begin(), ballot.end(), middle);
  communicator_.start_sum(shared);
  communicator_.finish();
  const float share = 1.0F / static_cast<float>(communicator_.size());
  std::transform(shared.begin(), middle, values.begin(), [&](float sum) { return sum * share; });
  std::copy(middle, shared.end(), ballot.begin());
}

}  // namespace lockstep::train
