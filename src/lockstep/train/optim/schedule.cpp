#include "lockstep/train/optim/schedule.h"

#include <cmath>
#include <numbers>

namespace lockstep::train {

using record::ScheduleShape;

namespace {

/// What counts as a lower loss: noise in the last digits does not.
constexpr double kImprovement = 1e-4;

}  // namespace

double Schedule::factor(std::int64_t step, std::int64_t total) const {
  const auto at = static_cast<double>(step);
  if (at + 1 < warmup_steps) return (at + 1) / warmup_steps;
  const double rest = static_cast<double>(total) - warmup_steps;
  const double progress = rest > 0 ? (at - warmup_steps) / rest : 0;
  const double done = progress < 0 ? 0 : (progress > 1 ? 1 : progress);
  switch (shape) {
    case ScheduleShape::kConstant:
    case ScheduleShape::kPlateau:
      return 1;
    case ScheduleShape::kLinear:
      return 1 - done;
    case ScheduleShape::kStep: {
      double factor = 1;
      for (const std::int64_t drop : drops) factor *= step >= drop ? gamma : 1;
      return factor;
    }
    case ScheduleShape::kCosine:
      return 0.5 * (1 + std::cos(std::numbers::pi * done));
  }
  return 1;
}

void Plateau::observe(double validation_loss) {
  const double threshold = best_ - std::abs(best_) * kImprovement;
  if (std::isfinite(validation_loss) && (!seen_ || validation_loss < threshold)) {
    seen_ = true;
    best_ = validation_loss;
    waited_ = 0;
    return;
  }
  if (++waited_ <= patience_) return;
  factor_ *= gamma_;
  waited_ = 0;
}

std::map<std::string, double> Plateau::figures() const {
  return {{"plateau_factor", factor_},
          {"plateau_seen", seen_ ? 1 : 0},
          {"plateau_best", best_},
          {"plateau_waited", waited_}};
}

void Plateau::restore(const std::map<std::string, double>& figures) {
  if (!figures.contains("plateau_factor")) return;
  factor_ = figures.at("plateau_factor");
  seen_ = figures.at("plateau_seen") != 0;
  best_ = figures.at("plateau_best");
  waited_ = static_cast<int>(figures.at("plateau_waited"));
}

double batch_scale(record::RateScaling scaling, std::int64_t global_batch,
                   std::int64_t base_batch) {
  const double ratio = static_cast<double>(global_batch) / static_cast<double>(base_batch);
  switch (scaling) {
    case record::RateScaling::kNone:
      return 1;
    case record::RateScaling::kLinear:
      return ratio;
    case record::RateScaling::kSqrt:
      return std::sqrt(ratio);
  }
  return 1;
}

}  // namespace lockstep::train
