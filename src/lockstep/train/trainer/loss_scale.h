#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace lockstep::train {

/// The factor of the loss in training with 16-bit floats of 5-bit exponents (fp16), whose smallest
/// gradients would vanish: as large as no gradient overflows (Micikevicius et al. 2018). A step
/// with an overflow is left out on all ranks and halves the factor; many without double it.
class LossScale {
 public:
  double value() const { return value_; }

  /// After each step, the same on all ranks.
  void observe(bool overflowed) {
    if (overflowed) {
      value_ = std::max(value_ / 2, 1.0);
      good_steps_ = 0;
    } else if (++good_steps_ == kStepsToGrow) {
      value_ = std::min(value_ * 2, kMost);
      good_steps_ = 0;
    }
  }

  /// What a checkpoint keeps.
  std::map<std::string, double> figures() const {
    return {{"loss_scale", value_}, {"loss_scale_steps", static_cast<double>(good_steps_)}};
  }
  void restore(const std::map<std::string, double>& figures) {
    const auto value = figures.find("loss_scale"), steps = figures.find("loss_scale_steps");
    if (value != figures.end()) value_ = value->second;
    if (steps != figures.end()) good_steps_ = static_cast<std::int64_t>(steps->second);
  }

 private:
  static constexpr std::int64_t kStepsToGrow = 2000;
  static constexpr double kMost = 16'777'216;

  double value_ = 65'536;
  std::int64_t good_steps_ = 0;
};

}  // namespace lockstep::train
