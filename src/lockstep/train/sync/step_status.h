#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace lockstep::train {

/// What ranks exchange in every step besides gradients. It travels in the tail of the last bucket
/// and is summed with it, so it costs no extra message, and all ranks read the same.
class StepStatus {
 public:
  static constexpr std::size_t kFloats = 7;
  /// Where GradientSync puts the squared norm of the rank's own gradient.
  static constexpr std::size_t kNormSlot = 5;
  /// Where it puts whether that gradient has an infinity or is no number.
  static constexpr std::size_t kOverflowSlot = 6;

  explicit StepStatus(std::span<float> tail) : tail_(tail) {}

  /// Before the sum: this rank's loss summed over its examples, its correct answers, whether it was
  /// asked to stop. A loss that is not finite is reported as such and not summed.
  void publish(int rank, double loss_sum, double correct, bool stop) {
    const bool finite = std::isfinite(loss_sum);
    tail_[0] = finite ? static_cast<float>(loss_sum) : 0.0F;
    tail_[1] = static_cast<float>(correct);
    tail_[2] = stop ? 1.0F : 0.0F;
    tail_[3] = finite ? 0.0F : 1.0F;
    tail_[4] = finite ? 0.0F : static_cast<float>(rank);
  }

  /// Adds an earlier status of this rank that was not summed yet.
  void add_unread(std::span<const float> earlier) {
    tail_[0] += earlier[0];
    tail_[1] += earlier[1];
    for (std::size_t flag : {2, 3, 4}) tail_[flag] = std::max(tail_[flag], earlier[flag]);
  }

  // After the sum.
  double loss_sum() const { return static_cast<double>(tail_[0]); }
  double correct() const { return static_cast<double>(tail_[1]); }
  bool stop_requested() const { return tail_[2] > 0; }
  int ranks_without_finite_loss() const { return static_cast<int>(tail_[3]); }
  /// That rank, if it is the only one.
  int rank_without_finite_loss() const { return static_cast<int>(tail_[4]); }
  /// On any rank.
  bool overflowed() const { return !(tail_[kOverflowSlot] == 0); }
  double own_squares() const { return static_cast<double>(tail_[kNormSlot]); }

 private:
  std::span<float> tail_;
};

}  // namespace lockstep::train
