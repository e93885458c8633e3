#pragma once

#include <cmath>
#include <span>

namespace lockstep::train {

/// What ranks tell each other in every step besides gradients. It rides in the tail of the last
/// bucket and is summed with it, so it costs no message of its own, and all ranks read the same.
class StepBallot {
 public:
  static constexpr std::size_t kFloats = 5;

  explicit StepBallot(std::span<float> tail) : tail_(tail) {}

  /// Before the sum: this rank's part of the mean loss over the global batch, its correct answers,
  /// whether it was asked to stop. A loss that is not finite is reported as such and not summed.
  void cast(int rank, double loss_share, std::int64_t correct, bool stop) {
    const bool finite = std::isfinite(loss_share);
    tail_[0] = finite ? static_cast<float>(loss_share) : 0.0F;
    tail_[1] = static_cast<float>(correct);
    tail_[2] = stop ? 1.0F : 0.0F;
    tail_[3] = finite ? 0.0F : 1.0F;
    tail_[4] = finite ? 0.0F : static_cast<float>(rank);
  }

  // After the sum.
  double mean_loss() const { return static_cast<double>(tail_[0]); }
  double correct() const { return static_cast<double>(tail_[1]); }
  bool anyone_stops() const { return tail_[2] > 0; }
  int ranks_without_finite_loss() const { return static_cast<int>(tail_[3]); }
  /// The rank, when it is only one.
  int rank_without_finite_loss() const { return static_cast<int>(tail_[4]); }

 private:
  std::span<float> tail_;
};

}  // namespace lockstep::train
