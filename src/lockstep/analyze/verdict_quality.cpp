#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "lockstep/analyze/verdict_parts.h"

namespace lockstep::analyze {
namespace {

struct Range {
  double low = 0;
  double high = 0;
  double sum = 0;
  int count = 0;

  void add(double value) {
    low = count == 0 ? value : std::min(low, value);
    high = count == 0 ? value : std::max(high, value);
    sum += value;
    ++count;
  }
  double mean() const { return sum / count; }
  std::string text() const {
    return low == high ? number_text(low) : number_text(low) + "-" + number_text(high);
  }
};

using ByBatch = std::map<std::int64_t, Range>;  ///< B -> values

/// "0.019 at B = 64, 0.046-0.047 at 128, 0.8 at 256".
std::string by_batch_text(const ByBatch& values) {
  std::vector<std::string> parts;
  for (const auto& [batch, range] : values) {
    const char* name = parts.empty() ? "B = " : "";
    parts.push_back(fmt::format("{} at {}{}", range.text(), name, batch));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Whether the mean only rises (sign 1) or only falls (sign -1) with the batch.
bool monotone(const ByBatch& values, int sign) {
  const Range* previous = nullptr;
  for (const auto& [batch, range] : values) {
    if (previous != nullptr && (range.mean() - previous->mean()) * sign < 0) return false;
    previous = &range;
  }
  return true;
}

/// The batch at which the mean is best, when it only gets better up to it and only worse after it.
std::optional<std::int64_t> best_in_between(const ByBatch& values, bool higher_is_better) {
  const double sign = higher_is_better ? 1 : -1;
  const auto best =
      std::max_element(values.begin(), values.end(), [&](const auto& a, const auto& b) {
        return sign * a.second.mean() < sign * b.second.mean();
      });
  ByBatch upper(best, values.end());
  ByBatch lower(values.begin(), best);
  lower.insert(*best);
  if (lower.size() < 2 || upper.size() < 2) return std::nullopt;
  const int direction = higher_is_better ? 1 : -1;
  if (!monotone(lower, direction) || !monotone(upper, -direction)) return std::nullopt;
  return best->first;
}

std::string quality_sentence(const std::string& model, const std::string& metric,
                             const ByBatch& values) {
  const double first = values.begin()->second.mean();
  const double last = values.rbegin()->second.mean();
  const bool accuracy = higher_is_better(metric);
  double least = first;
  double most = first;
  for (const auto& [batch, range] : values) {
    least = std::min(least, range.mean());
    most = std::max(most, range.mean());
  }
  const bool held =
      accuracy ? quality_held(metric, least, most) : quality_held(metric, most, least);
  const std::string name = quality_name(metric);
  const std::string numbers = by_batch_text(values);
  if (held) return fmt::format("{}: {} held as the global batch grew: {}.", model, name, numbers);
  const bool rose = last > first;
  if (const auto best = best_in_between(values, accuracy)) {
    return fmt::format("{}: {} was best at B = {} and got worse on either side of it: {}.", model,
                       name, *best, numbers);
  }
  if (!monotone(values, rose ? 1 : -1)) {
    return fmt::format("{}: {} varied without a trend as the global batch grew: {}.", model, name,
                       numbers);
  }
  std::string text = fmt::format("{}: {} {} with the global batch: {}", model, name,
                                 rose ? "grew" : "fell", numbers);
  if (!accuracy) text += fmt::format(" ({:.3g}x)", rose ? last / first : first / last);
  const bool worse = rose != accuracy;
  if (worse) text += "; the batch, and the learning rate if it was raised with it, cost quality";
  return text + ".";
}

std::string stable_sentence(const std::string& model, const ByBatch& values, bool by_rule) {
  const double first = values.begin()->second.mean();
  const double last = values.rbegin()->second.mean();
  return fmt::format("{}: epochs to stable {} as the global batch grew: {}{}.", model,
                     last > first   ? "rose"
                     : last < first ? "fell"
                                    : "stayed the same",
                     by_batch_text(values), by_rule ? "" : " (as the source gave them)");
}

}  // namespace

void judge_quality(std::span<const Configuration> configurations, std::vector<Finding>& findings) {
  using Key = std::tuple<std::string, std::string, std::optional<std::int64_t>>;
  std::map<Key, std::vector<QualityPoint>> by_model;
  for (QualityPoint& point : qualities(configurations)) {
    const Configuration& c = point.configuration;
    by_model[{c.model, c.dataset, c.epochs}].push_back(std::move(point));
  }
  for (const auto& [key, points] : by_model) {
    const std::string& model = std::get<0>(key);
    for (const std::string& metric : quality_metrics()) {
      ByBatch values;
      for (const QualityPoint& point : points) {
        const QualityFigure* figure = point.figure(metric);
        if (figure == nullptr || !point.configuration.global_batch) continue;
        values[*point.configuration.global_batch].add(figure->last);
      }
      if (values.size() < 2) continue;
      findings.push_back({Topic::kQuality, quality_sentence(model, metric, values)});
    }
    ByBatch stable;
    bool by_rule = true;
    for (const QualityPoint& point : points) {
      if (!point.epochs_to_stable || !point.configuration.global_batch) continue;
      stable[*point.configuration.global_batch].add(*point.epochs_to_stable);
      by_rule &= point.stable_by_rule;
    }
    if (stable.size() > 1) {
      findings.push_back({Topic::kQuality, stable_sentence(model, stable, by_rule)});
    }
  }
}

}  // namespace lockstep::analyze
