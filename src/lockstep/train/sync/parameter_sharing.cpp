#include "lockstep/train/sync/parameter_sharing.h"

#include <algorithm>

#include "lockstep/train/sync/step_status.h"

namespace lockstep::train {

ParameterSharing::ParameterSharing(Strategy strategy, std::int64_t every,
                                   comm::Communicator& communicator, std::size_t parameters,
                                   std::size_t status)
    : strategy_(strategy), every_(every), communicator_(communicator) {
  if (strategy_ != Strategy::kLocal) return;
  if (communicator_.residence() == comm::Residence::kHost) {
    shared_ = communicator_.allocate(parameters + status);
  }
  unread_.assign(status, 0.0F);
}

bool ParameterSharing::after_step(std::span<float> parameters, std::span<float> status,
                                  bool last_of_epoch) {
  if (strategy_ == Strategy::kCentral) {
    communicator_.broadcast(std::as_writable_bytes(parameters), 0);
    communicator_.broadcast(std::as_writable_bytes(status), 0);
    return true;
  }
  if (!needed()) return true;
  StepStatus(status).add_unread(unread_);
  if (++since_ != every_ && !last_of_epoch) {
    std::copy(status.begin(), status.end(), unread_.begin());
    return false;
  }
  since_ = 0;
  std::fill(unread_.begin(), unread_.end(), 0.0F);
  sum(parameters, status);
  return true;
}

void ParameterSharing::average(std::span<float> values) {
  sum(values, {});
}

void ParameterSharing::sum(std::span<float> values, std::span<float> status) {
  if (shared_.empty()) {
    sum_gathered(values, 1.0F / static_cast<float>(communicator_.size()));
    sum_gathered(status, 1.0F);
    return;
  }
  const auto shared = shared_.first(values.size() + status.size());
  const auto middle = std::copy(values.begin(), values.end(), shared.begin());
  std::copy(status.begin(), status.end(), middle);
  communicator_.start_sum(shared);
  communicator_.finish();
  const float share = 1.0F / static_cast<float>(communicator_.size());
  std::transform(shared.begin(), middle, values.begin(), [&](float sum) { return sum * share; });
  std::copy(middle, shared.end(), status.begin());
}

/// Where the communicator sums in memory that the host cannot reach. Averages are rare.
void ParameterSharing::sum_gathered(std::span<float> values, float factor) {
  const auto all = communicator_.gather_all(std::span<const float>(values));
  for (std::size_t i = 0; i < values.size(); ++i) {
    float sum = all[i];
    for (std::size_t at = i + values.size(); at < all.size(); at += values.size()) sum += all[at];
    values[i] = factor * sum;
  }
}

}  // namespace lockstep::train
