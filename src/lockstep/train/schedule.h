#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::train {

/// The learning rate over a run, as a factor of its base value: a linear warm-up over the first
/// `warmup` steps, then the shape.
struct Schedule {
  enum class Shape {
    kConstant,
    kLinear,  ///< straight down to zero at the last step
    kCosine,  ///< half a cosine down to zero (Loshchilov and Hutter 2017)
  };
  Shape shape = Shape::kConstant;
  double warmup_fraction = 0;  ///< of all steps

  /// `step` from 0 of `total`.
  double factor(std::int64_t step, std::int64_t total) const;
};

/// "constant", "linear" or "cosine", each with a warm-up over the given fraction of the run. Throws
/// kUsage otherwise.
Schedule schedule_from_name(std::string_view name, double warmup_fraction);

}  // namespace lockstep::train
