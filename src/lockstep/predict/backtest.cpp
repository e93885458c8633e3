#include "lockstep/predict/backtest.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lockstep/base/error.h"
#include "lockstep/base/statistics.h"
#include "lockstep/predict/odds.h"

namespace lockstep::predict {
namespace {

/// A prediction twice too high is as useless as one ten times too high.
constexpr double kLargestError = 1;
constexpr int kGroupFolds = 10;
/// So that a value at the end of a 90 % interval is inside it.
constexpr double kRounding = 1e-3;
/// With two, one would be all that is known when the other is held out.
constexpr std::size_t kFewestSources = 3;

double relative_error(double predicted, double actual) {
  return std::min(std::fabs(predicted - actual) / actual, kLargestError);
}

/// The probability of the smallest central interval that covers the actual value.
double level_of(const HeldOut& held) {
  const ScalingPrediction& p = held.predicted;
  const double size = std::fabs(std::log(held.actual.rate / p.rate));
  const double half = std::log(held.actual.rate > p.rate ? p.high / p.rate : p.rate / p.low);
  return central_probability(size, half);
}

ErrorSummary summarize_errors(const std::vector<double>& errors) {
  const Summary summary = summarize(errors);
  const auto close = std::count_if(errors.begin(), errors.end(), [](double e) { return e <= 0.1; });
  return {summary.median, summary.mean, quantile(errors, 0.9),
          static_cast<double>(close) / static_cast<double>(errors.size())};
}

}  // namespace

std::vector<HeldOut> hold_out_largest(const std::vector<LearningSeries>& all, const Prior& prior,
                                      bool with_classic) {
  std::vector<HeldOut> result;
  for (const LearningSeries& one : all) {
    if (one.series.points.size() < 2) continue;
    HeldOut held;
    held.series = one.series.name;
    held.source = one.source;
    held.kind = one.kind;
    held.actual = one.series.points.back();
    ScalingSeries seen = one.series;
    seen.points.pop_back();
    held.predicted = predict_rate(seen, held.actual, prior);
    for (std::size_t m = 0; with_classic && m < held.classic.size(); ++m) {
      held.classic[m] = predict_classic(static_cast<ClassicModel>(m), seen, held.actual);
    }
    result.push_back(std::move(held));
  }
  return result;
}

std::vector<HeldOut> cross_validate_largest(const std::vector<LearningSeries>& all, Unseen unseen) {
  std::vector<std::string> together;
  for (const LearningSeries& one : all) {
    together.push_back(unseen == Unseen::kSource ? one.source : one.group);
  }
  const int folds = unseen == Unseen::kSource
                        ? static_cast<int>(std::set(together.begin(), together.end()).size())
                        : kGroupFolds;
  const std::vector<int> fold = group_folds(together, folds);
  std::vector<HeldOut> result;
  for (int k = 0; k < folds; ++k) {
    std::vector<LearningSeries> seen;
    std::vector<LearningSeries> held;
    for (std::size_t i = 0; i < all.size(); ++i) (fold[i] == k ? held : seen).push_back(all[i]);
    if (held.empty()) continue;
    const std::vector<HeldOut> part =
        hold_out_largest(held, fit_prior(seen, "cross-validation"), true);
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

bool can_hold_out_sources(const std::vector<LearningSeries>& all) {
  std::map<std::string, std::size_t> sizes;
  for (const LearningSeries& one : all) ++sizes[one.source];
  return sizes.size() >= kFewestSources &&
         std::all_of(sizes.begin(), sizes.end(), [&](const auto& source) {
           return all.size() - source.second >= kEnoughForPrior;
         });
}

Backtest summarize_backtest(const std::vector<HeldOut>& held_out) {
  if (held_out.empty()) {
    throw Error(ErrorKind::kData, "no series has two worker counts, so none can be held out",
                "measure at least two worker counts of one configuration");
  }
  Backtest backtest;
  backtest.series = held_out.size();
  std::vector<double> ours;
  std::vector<double> widths;
  std::size_t covered = 0;
  for (const HeldOut& held : held_out) {
    const ScalingPrediction& p = held.predicted;
    ours.push_back(relative_error(p.rate, held.actual.rate));
    const double whole = std::fabs(p.rate / held.actual.rate - 1);
    backtest.uncapped_mean += whole / static_cast<double>(held_out.size());
    backtest.above_twice += whole > 1;
    widths.push_back((p.high - p.low) / p.rate);
    const double level = level_of(held);
    for (int i = 0; i < kLevels; ++i) {
      if (level <= 0.1 * (i + 1) + kRounding) {
        backtest.covered[static_cast<std::size_t>(i)] += 1 / static_cast<double>(held_out.size());
      }
    }
    covered += held.actual.rate >= p.low && held.actual.rate <= p.high;
  }
  backtest.ours = summarize_errors(ours);
  backtest.coverage = static_cast<double>(covered) / static_cast<double>(held_out.size());
  backtest.median_width = median(widths);
  for (std::size_t m = 0; m < backtest.classic.size(); ++m) {
    std::vector<double> errors;
    for (const HeldOut& held : held_out) {
      errors.push_back(relative_error(held.classic[m], held.actual.rate));
    }
    backtest.classic[m] = summarize_errors(errors);
  }
  return backtest;
}

std::vector<PartOfBacktest> backtest_by(const std::vector<HeldOut>& held_out,
                                        std::string HeldOut::*part_of) {
  std::map<std::string, std::vector<HeldOut>> parts;
  for (const HeldOut& held : held_out) {
    if (!(held.*part_of).empty()) parts[held.*part_of].push_back(held);
  }
  std::vector<PartOfBacktest> result;
  for (const auto& [name, part] : parts) result.push_back({name, summarize_backtest(part)});
  return result;
}

}  // namespace lockstep::predict
