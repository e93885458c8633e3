#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/analyze/configuration.h"
#include "lockstep/analyze/stability.h"

namespace lockstep::analyze {

/// The metrics that show how well a network learned, losses first.
std::span<const std::string> quality_metrics();

/// "validation accuracy", "training loss".
std::string quality_name(std::string metric);

/// Whether a value is as good as the best one, but for what training again would change.
bool quality_held(const std::string& metric, double value, double best);

/// True for accuracies, false for losses.
bool higher_is_better(const std::string& metric);

struct QualityFigure {
  std::string metric;
  double last = 0;             ///< median over repeats of the last epoch
  std::optional<double> best;  ///< over epochs; only if the source has them
  std::size_t count = 0;
};

/// How well one configuration learned.
struct QualityPoint {
  Configuration configuration;
  std::vector<QualityFigure> figures;
  std::optional<double> epochs_to_stable;
  std::optional<double> noise_scale;  ///< examples, after the last epoch; median over repeats
  /// Whether that was found by the rule from a curve; false when the source gave the number.
  bool stable_by_rule = false;

  const QualityFigure* figure(const std::string& metric) const;
};

/// Configurations with any quality metric, in their order.
std::vector<QualityPoint> qualities(std::span<const Configuration> configurations,
                                    const StabilityRule& rule = {});

}  // namespace lockstep::analyze
