#pragma once

#include <map>
#include <optional>
#include <string>

namespace lockstep::analyze {

/// The rule by which a curve counts as stable.
struct StabilityRule {
  /// Epochs in the centred moving average; shorter at both ends. Odd.
  int window = 3;
  /// How far from its best the smoothed curve may lie: absolute for accuracies, relative to the
  /// best for losses.
  double tolerance_accuracy = 0.01;
  double tolerance_loss = 0.05;
  /// Curves of fewer epochs are not rated.
  int fewest_epochs = 5;

  /// One sentence, printed with every number that the rule gives.
  std::string text() const;
};

/// First epoch from which the smoothed curve stays within the tolerance of its best value to the
/// end. Nothing when the curve is too short or ends outside the tolerance. `higher_is_better`:
/// accuracies; false for losses.
std::optional<int> epochs_to_stable(const std::map<int, double>& curve, bool higher_is_better,
                                    const StabilityRule& rule = {});

}  // namespace lockstep::analyze
