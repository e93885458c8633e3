#pragma once

#include "lockstep/comm/communicator.h"
#include "lockstep/nets/layers/moment_exchange.h"

namespace lockstep::train {

/// Sums of batch-norm moments over the ranks of a run. Added in rank order, so every rank gets the
/// same bits.
class RankMoments final : public nets::MomentExchange {
 public:
  explicit RankMoments(comm::Communicator& communicator) : communicator_(communicator) {}

  void sum(std::span<double> values) override {
    const auto all = communicator_.gather_all(std::span<const double>(values));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = all[i];
      for (std::size_t at = i + values.size(); at < all.size(); at += values.size()) {
        values[i] += all[at];
      }
    }
  }

 private:
  comm::Communicator& communicator_;
};

}  // namespace lockstep::train
