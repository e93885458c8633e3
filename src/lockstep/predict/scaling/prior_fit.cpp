#include "lockstep/predict/scaling/prior_fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"
#include "lockstep/base/statistics.h"

namespace lockstep::predict {
namespace {

constexpr std::size_t kFewestRows = 20;
/// Left out at either end of the interval. Not 0.05: a further source may be unlike all of these
/// (docs/internals/prediction-choice.md).
constexpr double kTail = 0.04;
/// Of a count beyond the next: its error is not independent of the next one's.
constexpr double kFarWeight = 0.2;

/// The error of one prediction, in units of its scale.
struct ScaledError {
  double value = 0;
  double weight = 1;
  std::string source;
};

struct ScaledErrors {
  std::vector<ScaledError> one_count;
  std::vector<ScaledError> more_counts;
  std::vector<ScaledError> shared_work;

  std::vector<ScaledError>& of(Evidence evidence) {
    if (evidence == Evidence::kSharedWork) return shared_work;
    return evidence == Evidence::kOneCount ? one_count : more_counts;
  }
};

/// Every count of every series, predicted from each part of the series below it.
ScaledErrors errors_of(const std::vector<LearningSeries>& all) {
  ScaledErrors errors;
  for (const LearningSeries& one : all) {
    const std::vector<ScalingPoint>& points = one.series.points;
    const std::vector<double> logs = log_efficiencies(points);
    ScalingSeries part = one.series;
    for (std::size_t seen = 1; seen < points.size(); ++seen) {
      part.points.assign(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(seen));
      for (std::size_t target = seen; target < points.size(); ++target) {
        const Situation situation = describe(part, points[target]);
        const double actual = logs[target] - logs[seen - 1];
        errors.of(situation.evidence)
            .push_back({(actual - mix(situation).change) / spread_scale(situation),
                        target == seen ? 1 : kFarWeight, one.source});
      }
    }
  }
  return errors;
}

double weighted_quantile(const std::vector<ScaledError>& sorted, double fraction) {
  double total = 0;
  for (const ScaledError& error : sorted) total += error.weight;
  double sum = 0;
  for (const ScaledError& error : sorted) {
    sum += error.weight;
    if (sum >= fraction * total) return error.value;
  }
  return sorted.back().value;
}

/// A source of many series counts for more than one of few, but not as much more.
SpreadPrior fit_spread(std::vector<ScaledError> errors, const SpreadPrior& shipped) {
  if (errors.size() < kFewestRows) return shipped;
  std::map<std::string, double> of_source;
  for (const ScaledError& error : errors) of_source[error.source] += error.weight;
  for (ScaledError& error : errors) error.weight /= std::sqrt(of_source[error.source]);
  std::sort(errors.begin(), errors.end(),
            [](const ScaledError& a, const ScaledError& b) { return a.value < b.value; });
  return {weighted_quantile(errors, kTail), weighted_quantile(errors, 1 - kTail), errors.size()};
}

InteriorPrior fit_interior(const std::vector<LearningSeries>& all) {
  std::vector<double> scaled;
  for (const LearningSeries& one : all) {
    const std::vector<ScalingPoint>& points = one.series.points;
    const std::vector<double> logs = log_efficiencies(points);
    for (std::size_t i = 1; i + 1 < points.size(); ++i) {
      const double part = std::log(points[i].workers / points[i - 1].workers) /
                          std::log(points[i + 1].workers / points[i - 1].workers);
      const double between = logs[i - 1] + part * (logs[i + 1] - logs[i - 1]);
      scaled.push_back((logs[i] - between) / (0.01 + std::fabs(logs[i + 1] - logs[i - 1])));
    }
  }
  if (scaled.size() < kFewestRows) return {};
  return {quantile(scaled, 0.05), quantile(scaled, 0.95)};
}

}  // namespace

std::vector<int> group_folds(const std::vector<std::string>& groups, int folds) {
  const std::set<std::string> names(groups.begin(), groups.end());
  const auto order = random_permutation(static_cast<std::uint32_t>(names.size()), Rng(1));
  std::map<std::string, int> fold;
  std::size_t at = 0;
  for (const std::string& name : names) fold[name] = static_cast<int>(order[at++]) % folds;
  std::vector<int> result;
  for (const std::string& group : groups) result.push_back(fold[group]);
  return result;
}

Prior fit_prior(const std::vector<LearningSeries>& series, std::string provenance) {
  if (series.size() < 20) {
    throw Error(ErrorKind::kData, "a prior needs at least 20 series to learn from",
                "use the shipped prior for smaller tables");
  }
  ScaledErrors errors = errors_of(series);
  Prior prior;
  prior.provenance = std::move(provenance);
  const Prior& shipped = shipped_prior();
  prior.one_count = fit_spread(std::move(errors.one_count), shipped.one_count);
  prior.more_counts = fit_spread(std::move(errors.more_counts), shipped.more_counts);
  prior.shared_work = fit_spread(std::move(errors.shared_work), shipped.shared_work);
  prior.interior = fit_interior(series);
  return prior;
}

}  // namespace lockstep::predict
