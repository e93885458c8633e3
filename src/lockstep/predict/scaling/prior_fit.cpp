#include "lockstep/predict/scaling/prior_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
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
/// Strong: what makes residuals large differs from source to source, so that a scale that follows
/// them closely is wrong on sources it has not seen.
constexpr double kSpreadRidge = 0.3;
/// Residuals below this are all "small": the logarithm must not dwell on lucky hits.
constexpr double kSmallResidual = 0.01;

/// Left out at either end. Bounds and distance widen intervals beyond the quantiles; with this the
/// whole covers 90 % in cross-validation.
constexpr double kTail = 0.055;

struct RowWeights {
  double next;  ///< the next count from a prefix that is not the whole series
  double far;   ///< a count beyond the next
};

ScalingSeries prefix(const ScalingSeries& whole, std::size_t count) {
  ScalingSeries part = whole;
  part.points.resize(count);
  return part;
}

double weighted_quantile(std::vector<std::pair<double, double>> values, double fraction) {
  std::sort(values.begin(), values.end());
  double total = 0;
  for (const auto& [value, weight] : values) total += weight;
  double sum = 0;
  for (const auto& [value, weight] : values) {
    sum += weight;
    if (sum >= fraction * total) return value;
  }
  return values.back().first;
}

/// Whole sources where there are enough of them, as the series to come are of other sources; else
/// groups.
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

using Shape = std::array<double, kShapeTerms>;

/// The scale alone, by ridge regression of the logarithm of the residuals, from the rows that
/// `taken` says yes to.
SpreadModel fit_scale(const std::vector<LearningRow>& rows, const std::vector<Mixture>& held_out,
                      const std::vector<Shape>& shapes,
                      const std::function<bool(std::size_t)>& taken) {
  SpreadModel model;
  for (std::size_t i = 0; i < kShapeTerms; ++i) {
    std::vector<double> values;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (taken(r)) values.push_back(shapes[r][i]);
    }
    const Summary summary = summarize(values);
    model.center.push_back(summary.mean);
    model.scale.push_back(summary.deviation + 1e-3);
  }
  const auto terms =
      static_cast<Eigen::Index>(spread_terms(model, shapes.front(), Place::kInside).size());
  Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(terms, terms);
  Eigen::VectorXd right = Eigen::VectorXd::Zero(terms);
  double total = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (!taken(r)) continue;
    const std::vector<double> x = spread_terms(model, shapes[r], rows[r].situation.place);
    const Eigen::Map<const Eigen::VectorXd> v(x.data(), terms);
    const double weight = rows[r].spread_weight;
    const double residual = std::fabs(rows[r].actual - held_out[r].change);
    normal += weight * v * v.transpose();
    right += weight * std::log(residual + kSmallResidual) * v;
    total += weight;
  }
  normal /= total;
  right /= total;
  normal.diagonal().tail(terms - 1).array() += kSpreadRidge;
  const Eigen::VectorXd solution = normal.ldlt().solve(right);
  model.coefficient.assign(solution.data(), solution.data() + terms);
  return model;
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
                       (kSmallResidual + std::fabs(logs[i + 1] - logs[i - 1])));
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

SpreadModel fit_spread(const std::vector<LearningRow>& rows, const std::vector<Mixture>& held_out) {
  std::vector<Shape> shapes;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    shapes.push_back(shape_terms(rows[r].situation, held_out[r]));
  }
  SpreadModel model = fit_scale(rows, held_out, shapes, [](std::size_t) { return true; });
  // A scale fitted to the residuals it divides makes them look smaller than those to come will be:
  // each is divided by a scale that has not seen its fold.
  const std::vector<int> fold = folds_of(rows);
  std::vector<std::pair<double, double>> scaled;
  for (int k = 0; k < fold_count(fold); ++k) {
    const auto inside = std::count(fold.begin(), fold.end(), k);
    if (inside == 0) continue;
    const bool all = static_cast<std::size_t>(inside) == fold.size();
    const SpreadModel unseen =
        fit_scale(rows, held_out, shapes, [&](std::size_t r) { return all || fold[r] != k; });
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (fold[r] != k) continue;
      const double scale = spread_scale(unseen, shapes[r], rows[r].situation.place);
      scaled.emplace_back((rows[r].actual - held_out[r].change) / scale, rows[r].spread_weight);
    }
  }
  model.low_quantile = weighted_quantile(scaled, kTail);
  model.high_quantile = weighted_quantile(scaled, 1 - kTail);
  return model;
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
