#include "lockstep/train/schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <numbers>
#include <utility>

#include "lockstep/base/error.h"

namespace lockstep::train {
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
    case Shape::kConstant:
    case Shape::kPlateau:
      return 1;
    case Shape::kLinear:
      return 1 - done;
    case Shape::kStep: {
      double factor = 1;
      for (const std::int64_t drop : drops) factor *= step >= drop ? gamma : 1;
      return factor;
    }
    case Shape::kCosine:
      return 0.5 * (1 + std::cos(std::numbers::pi * done));
  }
  return 1;
}

namespace {

constexpr std::pair<const char*, Schedule::Shape> kShapes[] = {
    {"constant", Schedule::Shape::kConstant}, {"linear", Schedule::Shape::kLinear},
    {"step", Schedule::Shape::kStep},         {"cosine", Schedule::Shape::kCosine},
    {"plateau", Schedule::Shape::kPlateau},
};

}  // namespace

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const auto& [name, shape] : kShapes) names.emplace_back(name);
  return names;
}

Schedule::Shape schedule_shape(std::string_view name) {
  for (const auto& [known, shape] : kShapes) {
    if (name == known) return shape;
  }
  throw Error(ErrorKind::kUsage, fmt::format("'{}' is not a learning-rate schedule", name),
              fmt::format("choose one of {}", fmt::join(schedule_names(), ", ")));
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

double batch_scale(std::string_view name, std::int64_t global_batch, std::int64_t base_batch) {
  const double ratio = static_cast<double>(global_batch) / static_cast<double>(base_batch);
  if (name == "none") return 1;
  if (name == "linear") return ratio;
  if (name == "sqrt") return std::sqrt(ratio);
  throw Error(ErrorKind::kUsage, fmt::format("'{}' is not a way to scale the learning rate", name),
              "choose none, linear or sqrt");
}

}  // namespace lockstep::train
