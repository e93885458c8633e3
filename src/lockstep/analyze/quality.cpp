#include "lockstep/analyze/quality.h"

#include <algorithm>
#include <array>

namespace lockstep::analyze {
namespace {

QualityFigure figure_of(const Configuration& c, const std::string& metric, double last) {
  QualityFigure figure{metric, last, std::nullopt, c.summary(metric).count};
  const auto curve = c.curves.find(metric);
  if (curve == c.curves.end()) return figure;
  // Epochs are means over repeats and the last value is a median: neither may look better than the
  // best.
  figure.best = last;
  for (const auto& [epoch, value] : curve->second) {
    const bool better = higher_is_better(metric) ? value > *figure.best : value < *figure.best;
    if (better) figure.best = value;
  }
  return figure;
}

/// The rule on the curve of the first metric that has one: what generalises before what was
/// trained.
std::optional<int> stable_epoch(const Configuration& c, const StabilityRule& rule) {
  for (const char* metric : {"val_accuracy", "val_loss"}) {
    const auto curve = c.curves.find(metric);
    if (curve == c.curves.end()) continue;
    return epochs_to_stable(curve->second, higher_is_better(metric), rule);
  }
  return std::nullopt;
}

}  // namespace

std::span<const std::string> quality_metrics() {
  static const std::array<std::string, 6> kMetrics{"train_loss",     "val_loss",     "loss",
                                                   "train_accuracy", "val_accuracy", "accuracy"};
  return kMetrics;
}

std::string quality_name(std::string metric) {
  if (metric.starts_with("val_")) metric.replace(0, 4, "validation ");
  if (metric.starts_with("train_")) metric.replace(0, 6, "training ");
  return metric;
}

bool quality_held(const std::string& metric, double value, double best) {
  // A loss that differs by less than this factor, an accuracy by less than this much, has held.
  constexpr double kHeldLoss = 1.1;
  constexpr double kHeldAccuracy = 0.01;
  return higher_is_better(metric) ? best - value < kHeldAccuracy : value < best * kHeldLoss;
}

bool higher_is_better(const std::string& metric) {
  return metric.ends_with("accuracy");
}

const QualityFigure* QualityPoint::figure(const std::string& metric) const {
  const auto found = std::find_if(figures.begin(), figures.end(), [&](const QualityFigure& figure) {
    return figure.metric == metric;
  });
  return found == figures.end() ? nullptr : &*found;
}

std::vector<QualityPoint> qualities(std::span<const Configuration> configurations,
                                    const StabilityRule& rule) {
  std::vector<QualityPoint> points;
  for (const Configuration& c : configurations) {
    QualityPoint point;
    point.configuration = c;
    for (const std::string& metric : quality_metrics()) {
      if (const auto last = c.value(metric)) point.figures.push_back(figure_of(c, metric, *last));
    }
    if (const auto epoch = stable_epoch(c, rule)) {
      point.epochs_to_stable = *epoch;
      point.stable_by_rule = true;
    } else if (const auto given = c.value("epochs_to_stable")) {
      point.epochs_to_stable = *given;
    }
    point.noise_scale = c.value("noise_scale");
    if (!point.figures.empty() || point.epochs_to_stable) points.push_back(std::move(point));
  }
  return points;
}

}  // namespace lockstep::analyze
