#include <nlopt.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "lockstep/base/error.h"
#include "lockstep/base/statistics.h"
#include "lockstep/predict/scaling/prior_fit.h"

namespace lockstep::predict {
namespace {

/// What makes residuals large differs from source to source: a scale that follows them closely is
/// wrong on sources it has not seen.
constexpr double kSpreadRidge = 0.1;
/// The part of the residuals that the scale is to exceed; its logarithm is a quantile regression.
constexpr double kScaleLevel = 0.9;
/// Residuals below this are all "small": the logarithm must not dwell on lucky hits.
constexpr double kSmallResidual = 0.003;
/// The kink of the quantile loss is rounded off, so that it has a gradient everywhere.
constexpr double kKink = 0.02;
/// Left out below and above; bounds and distance widen intervals a little beyond that.
struct Tails {
  double below;
  double above;
};

/// Disappointments have the longer tail: leaving out more of them makes the shortest interval of
/// 90 %. With one or two counts, or few series to learn from, as much is left out on either side.
Tails tails_of(Evidence evidence) {
  return evidence == Evidence::kMoreCounts ? Tails{0.07, 0.045} : Tails{0.05, 0.05};
}

using Shape = std::array<double, kShapeTerms>;

struct Scaled {
  double value;  ///< residual / scale
  double weight;
};

double weighted_quantile(std::vector<Scaled> values, double fraction) {
  std::sort(values.begin(), values.end(),
            [](const Scaled& a, const Scaled& b) { return a.value < b.value; });
  double total = 0;
  for (const Scaled& one : values) total += one.weight;
  double sum = 0;
  for (const Scaled& one : values) {
    sum += one.weight;
    if (sum >= fraction * total) return one.value;
  }
  return values.back().value;
}

struct ScaleProblem {
  Eigen::MatrixXd terms;     ///< rows x terms
  Eigen::VectorXd residual;  ///< logarithm
  Eigen::VectorXd weight;
};

/// Quantile loss of the log residuals at kScaleLevel, with its gradient.
double scale_loss(unsigned count, const double* x, double* gradient, void* data) {
  const auto& problem = *static_cast<const ScaleProblem*>(data);
  const Eigen::Map<const Eigen::VectorXd> coefficient(x, count);
  const Eigen::VectorXd error = problem.residual - problem.terms * coefficient;
  const Eigen::VectorXd size = (error.array().square() + kKink * kKink).sqrt();
  const auto others = coefficient.tail(count - 1);  // not the intercept
  if (gradient != nullptr) {
    Eigen::Map<Eigen::VectorXd> slope(gradient, count);
    const Eigen::VectorXd share =
        problem.weight.array() * (0.5 * error.array() / size.array() + kScaleLevel - 0.5);
    slope = -problem.terms.transpose() * share;
    slope.tail(count - 1) += 2 * kSpreadRidge * others;
  }
  return problem.weight.dot(0.5 * size + (kScaleLevel - 0.5) * error) +
         kSpreadRidge * others.squaredNorm();
}

/// The scale alone, from the rows that `taken` says yes to.
SpreadModel fit_scale(const std::vector<LearningRow>& rows, const std::vector<Mixture>& held_out,
                      const std::vector<Shape>& shapes,
                      const std::function<bool(std::size_t)>& taken) {
  std::vector<std::size_t> at;
  std::vector<const LearningRow*> chosen;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (!taken(r)) continue;
    at.push_back(r);
    chosen.push_back(&rows[r]);
  }
  SpreadModel model;
  for (std::size_t i = 0; i < kShapeTerms; ++i) {
    std::vector<double> values;
    for (const std::size_t r : at) values.push_back(shapes[r][i]);
    const Summary summary = summarize(values);
    model.center.push_back(summary.mean);
    model.scale.push_back(summary.deviation + 1e-3);
  }
  const auto terms = spread_terms(model, shapes.front(), Place::kInside).size();
  const auto count = static_cast<Eigen::Index>(at.size());
  const std::vector<double> weights = balanced_weights(chosen, &LearningRow::spread_weight);
  ScaleProblem problem{Eigen::MatrixXd(count, static_cast<Eigen::Index>(terms)),
                       Eigen::VectorXd(count),
                       Eigen::Map<const Eigen::VectorXd>(weights.data(), count)};
  for (Eigen::Index i = 0; i < count; ++i) {
    const std::size_t r = at[static_cast<std::size_t>(i)];
    const std::vector<double> x = spread_terms(model, shapes[r], rows[r].situation.place);
    problem.terms.row(i) =
        Eigen::Map<const Eigen::RowVectorXd>(x.data(), static_cast<Eigen::Index>(terms));
    problem.residual(i) = std::log(std::fabs(rows[r].actual - held_out[r].change) + kSmallResidual);
  }
  model.coefficient.assign(terms, 0.0);
  model.coefficient.front() = problem.residual.maxCoeff();
  const std::unique_ptr<nlopt_opt_s, decltype(&nlopt_destroy)> optimizer(
      nlopt_create(NLOPT_LD_LBFGS, static_cast<unsigned>(terms)), nlopt_destroy);
  nlopt_set_min_objective(optimizer.get(), scale_loss, &problem);
  nlopt_set_maxeval(optimizer.get(), 400);
  nlopt_set_ftol_rel(optimizer.get(), 1e-8);
  double value = 0;
  const nlopt_result result = nlopt_optimize(optimizer.get(), model.coefficient.data(), &value);
  if (result < 0 && result != NLOPT_ROUNDOFF_LIMITED && result != NLOPT_FAILURE) {
    throw Error(ErrorKind::kInternal, "the fit of the interval's scale failed");
  }
  return model;
}

/// Residuals in units of a scale that has not seen their fold: a scale fitted to the residuals it
/// divides makes them look smaller than those to come will be.
std::vector<Scaled> scaled_residuals(const std::vector<LearningRow>& rows,
                                     const std::vector<Mixture>& held_out,
                                     const std::vector<Shape>& shapes) {
  const std::vector<int> fold = folds_of(rows);
  std::vector<const LearningRow*> all;
  for (const LearningRow& row : rows) all.push_back(&row);
  const std::vector<double> weights = balanced_weights(all, &LearningRow::spread_weight);
  std::vector<Scaled> scaled;
  for (int k = 0; k < fold_count(fold); ++k) {
    const auto inside = std::count(fold.begin(), fold.end(), k);
    if (inside == 0) continue;
    const bool only = static_cast<std::size_t>(inside) == fold.size();
    const SpreadModel unseen =
        fit_scale(rows, held_out, shapes, [&](std::size_t r) { return only || fold[r] != k; });
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (fold[r] != k) continue;
      const double scale = spread_scale(unseen, shapes[r], rows[r].situation.place);
      scaled.push_back({(rows[r].actual - held_out[r].change) / scale, weights[r]});
    }
  }
  return scaled;
}

}  // namespace

SpreadModel fit_spread(const std::vector<LearningRow>& rows, const std::vector<Mixture>& held_out) {
  std::vector<Shape> shapes;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    shapes.push_back(shape_terms(rows[r].situation, held_out[r]));
  }
  SpreadModel model = fit_scale(rows, held_out, shapes, [](std::size_t) { return true; });
  std::vector<Scaled> scaled = scaled_residuals(rows, held_out, shapes);
  const Tails tails = tails_of(rows.front().situation.evidence);
  model.low_quantile = weighted_quantile(scaled, tails.below);
  model.high_quantile = weighted_quantile(scaled, 1 - tails.above);
  for (Scaled& one : scaled) {
    one.value /= one.value < 0 ? model.low_quantile : model.high_quantile;
  }
  for (int i = 0; i + 1 < kLevels; ++i) {
    model.inside[static_cast<std::size_t>(i)] =
        std::min(weighted_quantile(scaled, 0.1 * (i + 1)), 1.0);
  }
  return model;
}

}  // namespace lockstep::predict
