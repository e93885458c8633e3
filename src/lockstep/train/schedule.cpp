#include "lockstep/train/schedule.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "lockstep/base/error.h"

namespace lockstep::train {

double Schedule::factor(std::int64_t step, std::int64_t total) const {
  const double warmup = warmup_fraction * static_cast<double>(total);
  const auto at = static_cast<double>(step);
  if (at + 1 < warmup) return (at + 1) / warmup;
  const double rest = static_cast<double>(total) - warmup;
  const double progress = rest > 0 ? (at - warmup) / rest : 0;
  const double done = progress < 0 ? 0 : (progress > 1 ? 1 : progress);
  switch (shape) {
    case Shape::kConstant:
      return 1;
    case Shape::kLinear:
      return 1 - done;
    case Shape::kCosine:
      return 0.5 * (1 + std::cos(std::numbers::pi * done));
  }
  return 1;
}

Schedule schedule_from_name(std::string_view name, double warmup_fraction) {
  if (name == "constant") return {Schedule::Shape::kConstant, warmup_fraction};
  if (name == "linear") return {Schedule::Shape::kLinear, warmup_fraction};
  if (name == "cosine") return {Schedule::Shape::kCosine, warmup_fraction};
  throw Error(ErrorKind::kUsage, fmt::format("'{}' is not a learning-rate schedule", name),
              "choose constant, linear or cosine");
}

}  // namespace lockstep::train
