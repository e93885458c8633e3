#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "lockstep/analyze/verdict/verdict_parts.h"

namespace lockstep::analyze {
namespace {

struct Range {
  double low = 0;
  double high = 0;
  std::int64_t low_workers = 0;   ///< of the configuration with that value
  std::int64_t high_workers = 0;  ///< likewise
  double sum = 0;
  int count = 0;

  void add(double value, std::int64_t workers) {
    if (count == 0 || value < low) {
      low = value;
      low_workers = workers;
    }
    if (count == 0 || value > high) {
      high = value;
      high_workers = workers;
    }
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

bool held(const std::string& metric, double least, double most) {
  return higher_is_better(metric) ? quality_held(metric, least, most)
                                  : quality_held(metric, most, least);
}

/// Why a trend is not the batch's doing: where one batch was trained by several counts of workers
/// and the metric differs. Some programs print a loss that grows with the workers.
std::optional<std::string> differs_by_workers(const std::string& metric, const ByBatch& values) {
  for (const auto& [batch, range] : values) {
    if (range.low_workers == range.high_workers || held(metric, range.low, range.high)) continue;
    return fmt::format("at the same B = {} it is {} with N = {} and {} with N = {}", batch,
                       number_text(range.low), range.low_workers, number_text(range.high),
                       range.high_workers);
  }
  return std::nullopt;
}

/// What a growing global batch did to a metric.
enum class Trend { kHeld, kBetter, kWorse, kBestBetween, kNone };

Trend trend_of(const std::string& metric, const ByBatch& values) {
  const bool accuracy = higher_is_better(metric);
  double least = values.begin()->second.mean();
  double most = least;
  for (const auto& [batch, range] : values) {
    least = std::min(least, range.mean());
    most = std::max(most, range.mean());
  }
  if (held(metric, least, most)) return Trend::kHeld;
  if (best_in_between(values, accuracy)) return Trend::kBestBetween;
  const bool rose = values.rbegin()->second.mean() > values.begin()->second.mean();
  if (!monotone(values, rose ? 1 : -1)) return Trend::kNone;
  return rose == accuracy ? Trend::kBetter : Trend::kWorse;
}

/// "validation loss grew with the global batch: 0.019 at B = 64, 0.8 at 256 (42.1x)".
std::string trend_text(const std::string& metric, const ByBatch& values) {
  const std::string name = quality_name(metric);
  const std::string numbers = by_batch_text(values);
  switch (trend_of(metric, values)) {
    case Trend::kHeld:
      return fmt::format("{} stayed within {} as the global batch grew: {}", name,
                         higher_is_better(metric) ? "0.01" : "10 %", numbers);
    case Trend::kBestBetween:
      return fmt::format("{} was best at B = {} and got worse on either side of it: {}", name,
                         *best_in_between(values, higher_is_better(metric)), numbers);
    case Trend::kNone:
      return fmt::format("{} varied without a trend as the global batch grew: {}", name, numbers);
    case Trend::kBetter:
    case Trend::kWorse:
      break;
  }
  const double first = values.begin()->second.mean();
  const double last = values.rbegin()->second.mean();
  std::string text =
      fmt::format("{} {} with the global batch: {}", name, last > first ? "grew" : "fell", numbers);
  if (!higher_is_better(metric)) {
    text += fmt::format(" ({:.3g}x)", last > first ? last / first : first / last);
  }
  return text;
}

/// "; validation loss got worse too": for metrics that went the same way.
std::string alike_text(Trend trend, const std::string& names) {
  switch (trend) {
    case Trend::kBetter:
      return "; " + names + " improved too";
    case Trend::kWorse:
      return "; " + names + " got worse too";
    case Trend::kHeld:
    case Trend::kBestBetween:
    case Trend::kNone:
      break;
  }
  return "; likewise " + names;
}

/// "a", "a and b", "a, b and c".
std::string joined(const std::vector<std::string>& names) {
  const std::span<const std::string> all(names);
  if (all.size() < 2) return all.empty() ? "" : all.front();
  return fmt::format("{} and {}", fmt::join(all.first(all.size() - 1), ", "), all.back());
}

struct MeteredQuality {
  std::string metric;
  ByBatch values;
};

/// One sentence on all metrics of a model: the one that matters most in full, those that went the
/// same way by name, the others in full after it.
std::string quality_sentence(const std::string& model, const std::vector<MeteredQuality>& all) {
  const MeteredQuality& main = all.front();
  const Trend trend = trend_of(main.metric, main.values);
  std::string text = fmt::format("{}: {}", model, trend_text(main.metric, main.values));
  std::vector<std::string> alike;
  std::vector<std::string> others;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (trend_of(all[i].metric, all[i].values) == trend) {
      alike.push_back(quality_name(all[i].metric));
    } else {
      others.push_back(trend_text(all[i].metric, all[i].values));
    }
  }
  if (!alike.empty()) text += alike_text(trend, joined(alike));
  for (const std::string& other : others) text += "; " + other;
  if (trend == Trend::kWorse) {
    const auto differs = differs_by_workers(main.metric, main.values);
    text += differs ? "; " + *differs + ", so the batch alone does not explain it"
                    : "; the batch, and the learning rate if it was raised with it, cost quality";
  }
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

void assess_quality(std::span<const Configuration> configurations, std::vector<Finding>& findings) {
  using Key = std::tuple<std::string, std::string, std::optional<std::int64_t>>;
  std::map<Key, std::vector<QualityPoint>> by_model;
  for (QualityPoint& point : qualities(configurations)) {
    const Configuration& c = point.configuration;
    by_model[{c.model, c.dataset, c.epochs}].push_back(std::move(point));
  }
  for (const auto& [key, points] : by_model) {
    const std::string& model = std::get<0>(key);
    std::vector<MeteredQuality> all;
    for (const char* metric :
         {"val_accuracy", "val_loss", "accuracy", "loss", "train_accuracy", "train_loss"}) {
      MeteredQuality one{metric, {}};
      for (const QualityPoint& point : points) {
        const QualityFigure* figure = point.figure(metric);
        if (figure == nullptr || !point.configuration.global_batch) continue;
        one.values[*point.configuration.global_batch].add(figure->last,
                                                          point.configuration.workers.value_or(0));
      }
      if (one.values.size() > 1) all.push_back(std::move(one));
    }
    if (!all.empty()) findings.push_back({Topic::kQuality, quality_sentence(model, all)});
    ByBatch stable;
    bool by_rule = true;
    for (const QualityPoint& point : points) {
      if (!point.epochs_to_stable || !point.configuration.global_batch) continue;
      stable[*point.configuration.global_batch].add(*point.epochs_to_stable,
                                                    point.configuration.workers.value_or(0));
      by_rule &= point.stable_by_rule;
    }
    if (stable.size() > 1) {
      findings.push_back({Topic::kQuality, stable_sentence(model, stable, by_rule)});
    }
  }
}

}  // namespace lockstep::analyze
