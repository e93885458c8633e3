#include "lockstep/analyze/stability.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace lockstep::analyze {
namespace {

std::vector<double> smoothed(const std::vector<double>& values, int window) {
  const auto count = static_cast<std::ptrdiff_t>(values.size());
  const std::ptrdiff_t half = window / 2;
  std::vector<double> means;
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    // Shrunk on both sides alike near the ends, so that the mean stays centred.
    const std::ptrdiff_t reach = std::min({half, i, count - 1 - i});
    double sum = 0;
    for (std::ptrdiff_t j = i - reach; j <= i + reach; ++j) {
      sum += values[static_cast<std::size_t>(j)];
    }
    means.push_back(sum / static_cast<double>(2 * reach + 1));
  }
  return means;
}

}  // namespace

std::string StabilityRule::text() const {
  return fmt::format(
      "first epoch from which the validation metric, averaged over {} epochs, stays within {} of "
      "its "
      "best (accuracy) or within {} % of it (loss) to the end",
      window, tolerance_accuracy, tolerance_loss * 100);
}

std::optional<int> epochs_to_stable(const std::map<int, double>& curve, bool higher_is_better,
                                    const StabilityRule& rule) {
  if (curve.size() < static_cast<std::size_t>(rule.fewest_epochs)) return std::nullopt;
  std::vector<int> epochs;
  std::vector<double> values;
  for (const auto& [epoch, value] : curve) {
    if (!std::isfinite(value)) return std::nullopt;
    epochs.push_back(epoch);
    values.push_back(higher_is_better ? value : -value);
  }
  const std::vector<double> smooth = smoothed(values, rule.window);
  const double best = *std::max_element(smooth.begin(), smooth.end());
  const double tolerance =
      higher_is_better ? rule.tolerance_accuracy : rule.tolerance_loss * std::fabs(best);
  std::optional<int> first;
  for (std::size_t i = smooth.size(); i-- > 0;) {
    if (best - smooth[i] > tolerance) break;
    first = epochs[i];
  }
  return first;
}

}  // namespace lockstep::analyze
