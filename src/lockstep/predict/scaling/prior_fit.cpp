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

constexpr int kFolds = 10;
constexpr std::size_t kFewestFoldSources = 3;
constexpr std::size_t kFewestRows = 20;
/// Interpolated values this close (log) are all equally good.
constexpr double kSmallDifference = 0.01;

struct RowWeights {
  double next;  ///< the next count from a prefix that is not the whole series
  double far;   ///< a count beyond the next
};

ScalingSeries prefix(const ScalingSeries& whole, std::size_t count) {
  ScalingSeries part = whole;
  part.points.resize(count);
  return part;
}

/// What each row would have been given by weights that saw none of its fold.
std::vector<Mixture> cross_validate(const std::vector<LearningRow>& rows, Evidence evidence) {
  const std::vector<int> fold = folds_of(rows);
  std::vector<Mixture> held_out(rows.size());
  for (int k = 0; k < fold_count(fold); ++k) {
    std::vector<LearningRow> seen;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (fold[r] != k) seen.push_back(rows[r]);
    }
    const PlaceWeights weights = fit_weights(seen.empty() ? rows : seen, evidence);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (fold[r] != k) continue;
      held_out[r] =
          mix(weights[static_cast<std::size_t>(rows[r].situation.place)], rows[r].situation);
    }
  }
  return held_out;
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
      scaled.push_back((logs[i] - between) /
                       (kSmallDifference + std::fabs(logs[i + 1] - logs[i - 1])));
    }
  }
  if (scaled.size() < 20) return {};
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

std::vector<int> folds_of(const std::vector<LearningRow>& rows) {
  std::set<std::string> sources;
  for (const LearningRow& row : rows) sources.insert(row.source);
  const bool by_source = sources.size() >= kFewestFoldSources;
  std::vector<std::string> together;
  for (const LearningRow& row : rows) together.push_back(by_source ? row.source : row.group);
  return group_folds(together, by_source ? static_cast<int>(sources.size()) : kFolds);
}

int fold_count(const std::vector<int>& folds) {
  return folds.empty() ? 0 : 1 + *std::max_element(folds.begin(), folds.end());
}

std::vector<LearningRow> learning_rows(const std::vector<LearningSeries>& all, Evidence evidence) {
  // Chosen by leaving out whole sources, on the largest counts.
  const bool rich = evidence == Evidence::kMoreCounts || evidence == Evidence::kSharedWork;
  const RowWeights fit_weights = rich ? RowWeights{0.05, 0.02} : RowWeights{1, 0.2};
  const RowWeights spread_weights = rich ? RowWeights{0.05, 0.05} : RowWeights{1, 0.2};
  std::vector<LearningRow> rows;
  for (const LearningSeries& one : all) {
    const std::vector<ScalingPoint>& points = one.series.points;
    const std::vector<double> logs = log_efficiencies(points);
    for (std::size_t seen = 1; seen < points.size(); ++seen) {
      const ScalingSeries part = prefix(one.series, seen);
      for (std::size_t target = seen; target < points.size(); ++target) {
        LearningRow row;
        row.situation = describe(part, points[target]);
        if (row.situation.evidence != evidence) break;
        row.actual = logs[target] - logs[seen - 1];
        row.group = one.group;
        row.source = one.source;
        const bool whole = seen + 1 == points.size();
        const bool next = target == seen;
        row.fit_weight = whole ? 1 : next ? fit_weights.next : fit_weights.far;
        row.spread_weight = whole ? 1 : next ? spread_weights.next : spread_weights.far;
        rows.push_back(std::move(row));
      }
    }
  }
  return rows;
}

Prior fit_prior(const std::vector<LearningSeries>& series, std::string provenance) {
  if (series.size() < 20) {
    throw Error(ErrorKind::kData, "a prior needs at least 20 series to learn from",
                "use the shipped prior for smaller tables");
  }
  Prior prior;
  prior.provenance = std::move(provenance);
  for (int e = 0; e < kEvidenceCount; ++e) {
    const auto evidence = static_cast<Evidence>(e);
    std::vector<LearningRow> rows = learning_rows(series, evidence);
    EvidencePrior& part = prior.evidence[static_cast<std::size_t>(e)];
    part.weights = fit_weights(rows, evidence);
    part.rows = rows.size();
    if (evidence == Evidence::kSharedWork && rows.size() < kFewestRows) {
      // Nothing to learn their doubt from: that of the other series has to do.
      part.spread = prior.of(Evidence::kMoreCounts).spread;
      continue;
    }
    if (rows.size() < kFewestRows) {
      throw Error(ErrorKind::kData, "a prior needs series of at least four worker counts",
                  "use the shipped prior for tables of shorter series");
    }
    part.spread = fit_spread(rows, cross_validate(rows, evidence));
  }
  prior.interior = fit_interior(series);
  return prior;
}

}  // namespace lockstep::predict
