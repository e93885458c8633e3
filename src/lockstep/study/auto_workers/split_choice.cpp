#include "lockstep/study/auto_workers/split_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lockstep::study {
namespace {

/// Splits below this part of the best rate are not measured again.
constexpr double kContender = 0.8;
/// Two short runs of the same split seldom agree better than this.
constexpr double kLeastNoise = 0.03;

double best_rate(std::span<const MeasuredSplit> measured) {
  double best = 0;
  for (const MeasuredSplit& one : measured) best = std::max(best, one.examples_per_s());
  return best;
}

/// Half of the largest difference between two rounds, as a part of their mean: the standard error
/// of that mean.
double noise_of(std::span<const MeasuredSplit> measured) {
  double noise = kLeastNoise;
  for (const MeasuredSplit& one : measured) {
    if (one.rates.size() < 2) continue;
    const auto [low, high] = std::minmax_element(one.rates.begin(), one.rates.end());
    noise = std::max(noise, (*high - *low) / 2 / one.examples_per_s());
  }
  return noise;
}

bool needs_less(const launch::CoreSplit& a, const launch::CoreSplit& b) {
  return std::pair(a.workers, a.threads) < std::pair(b.workers, b.threads);
}

}  // namespace

double MeasuredSplit::examples_per_s() const {
  if (rates.empty()) return 0;
  return std::accumulate(rates.begin(), rates.end(), 0.0) / static_cast<double>(rates.size());
}

std::vector<MeasuredSplit> measure_splits(std::span<const launch::CoreSplit> splits,
                                          const MeasureSplit& measure) {
  std::vector<MeasuredSplit> measured;
  for (const launch::CoreSplit& split : splits) measured.push_back({split, {}});
  if (splits.size() < 2) return measured;
  for (MeasuredSplit& one : measured) {
    if (const auto rate = measure(one.split)) one.rates.push_back(*rate);
  }
  const double least = kContender * best_rate(measured);
  const auto contends = [&](const MeasuredSplit& one) {
    return !one.rates.empty() && one.rates.front() >= least;
  };
  if (std::count_if(measured.begin(), measured.end(), contends) < 2) return measured;
  for (auto one = measured.rbegin(); one != measured.rend(); ++one) {
    if (!contends(*one)) continue;
    if (const auto rate = measure(one->split)) one->rates.push_back(*rate);
  }
  return measured;
}

std::optional<SplitChoice> choose_split(std::span<const MeasuredSplit> measured) {
  const double best = best_rate(measured);
  if (best <= 0) return std::nullopt;
  SplitChoice choice;
  choice.noise = noise_of(measured);
  std::optional<std::size_t> chosen, second;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (measured[i].examples_per_s() < best * (1 - choice.noise)) continue;
    if (!chosen || needs_less(measured[i].split, measured[*chosen].split)) chosen = i;
  }
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const double rate = measured[i].examples_per_s();
    if (i == *chosen || rate <= 0) continue;
    if (!second || rate > measured[*second].examples_per_s()) second = i;
  }
  choice.at = *chosen;
  choice.second = second.value_or(*chosen);
  return choice;
}

std::string choice_sentence(std::span<const MeasuredSplit> measured, const SplitChoice& choice) {
  const MeasuredSplit& chosen = measured[choice.at];
  const MeasuredSplit& second = measured[choice.second];
  const std::string begin = "chosen: " + launch::describe(chosen.split);
  if (choice.at == choice.second) return begin + ", the only one that fits into memory";
  const double ratio = second.examples_per_s() / chosen.examples_per_s();
  if (ratio <= 1) {
    return fmt::format("{}, {:.0f} % faster than {}", begin, 100 * (1 / ratio - 1),
                       launch::describe(second.split));
  }
  return fmt::format("{}; the gain of {}, {:.1f} %, is within the noise ({:.1f} %)", begin,
                     launch::describe(second.split), 100 * (ratio - 1), 100 * choice.noise);
}

}  // namespace lockstep::study
