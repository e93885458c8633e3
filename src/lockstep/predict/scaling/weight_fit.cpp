#include <nlopt.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>

#include "lockstep/base/error.h"
#include "lockstep/predict/scaling/prior_fit.h"

namespace lockstep::predict {
namespace {

/// Pulls the weights together: few series cannot say much about each.
constexpr double kRidge = 5e-4;
/// |error| is rounded off below this, so that the loss has a gradient everywhere.
constexpr double kSmoothing = 0.02;
/// Errors above this count at a third: a factor of two is as wrong as a factor of three.
constexpr double kLargeError = 0.7;
constexpr double kLargeErrorSlope = 0.3;

struct WeightProblem {
  Eigen::MatrixXd change;  ///< rows x forms
  Eigen::VectorXd actual;
  Eigen::VectorXd weight;  ///< of the rows; adds up to 1
};

Eigen::VectorXd softmax(const Eigen::VectorXd& score) {
  const Eigen::VectorXd share = (score.array() - score.maxCoeff()).exp();
  return share / share.sum();
}

/// Weighted mean absolute log error, bounded for outliers, of the average whose weights are
/// softmax(x); with its gradient.
double weight_loss(unsigned count, const double* x, double* gradient, void* data) {
  const auto& problem = *static_cast<const WeightProblem*>(data);
  const Eigen::Map<const Eigen::VectorXd> score(x, count);
  const Eigen::VectorXd share = softmax(score);
  const Eigen::VectorXd predicted = problem.change * share;
  double total = kRidge * score.squaredNorm();
  Eigen::VectorXd slope(predicted.size());
  for (Eigen::Index r = 0; r < predicted.size(); ++r) {
    const double error = predicted(r) - problem.actual(r);
    const double size = std::sqrt(error * error + kSmoothing * kSmoothing);
    const bool large = size > kLargeError;
    total +=
        problem.weight(r) * (large ? kLargeError + kLargeErrorSlope * (size - kLargeError) : size);
    slope(r) = problem.weight(r) * error / size * (large ? kLargeErrorSlope : 1);
  }
  if (gradient != nullptr) {
    // d predicted / d score_f = share_f (change_f - predicted)
    Eigen::Map<Eigen::VectorXd>(gradient, count) =
        (share.array() * (problem.change.transpose() * slope).array()).matrix() -
        slope.dot(predicted) * share + 2 * kRidge * score;
  }
  return total;
}

WeightProblem make_problem(const std::vector<const LearningRow*>& rows,
                           const std::vector<Form>& forms) {
  const auto n = static_cast<Eigen::Index>(rows.size());
  const auto q = static_cast<Eigen::Index>(forms.size());
  WeightProblem problem{Eigen::MatrixXd(n, q), Eigen::VectorXd(n), Eigen::VectorXd(n)};
  std::map<std::string, int> whole_rows;
  for (const LearningRow* row : rows) whole_rows[row->source] += row->fit_weight >= 1;
  for (Eigen::Index r = 0; r < n; ++r) {
    const LearningRow& row = *rows[static_cast<std::size_t>(r)];
    for (Eigen::Index f = 0; f < q; ++f) {
      problem.change(r, f) = row.situation.form(forms[static_cast<std::size_t>(f)]);
    }
    problem.actual(r) = row.actual;
    // A source of many series says more than one of few, but not as much more.
    problem.weight(r) = row.fit_weight / std::sqrt(std::max(whole_rows[row.source], 1));
  }
  problem.weight /= problem.weight.sum();
  return problem;
}

std::vector<double> fit_weights_of(const std::vector<const LearningRow*>& rows, Evidence evidence) {
  const std::vector<Form>& forms = forms_of(evidence);
  std::vector<double> x(forms.size(), 0.0);
  // Series of shared work are few and of few sources: their forms are averaged evenly.
  if (!rows.empty() && evidence != Evidence::kSharedWork) {
    WeightProblem problem = make_problem(rows, forms);
    const std::unique_ptr<nlopt_opt_s, decltype(&nlopt_destroy)> optimizer(
        nlopt_create(NLOPT_LD_LBFGS, static_cast<unsigned>(x.size())), nlopt_destroy);
    nlopt_set_min_objective(optimizer.get(), weight_loss, &problem);
    nlopt_set_maxeval(optimizer.get(), 400);
    nlopt_set_ftol_rel(optimizer.get(), 1e-8);
    double value = 0;
    const nlopt_result result = nlopt_optimize(optimizer.get(), x.data(), &value);
    // Round-off near the optimum is how L-BFGS often ends; the point where it stopped is good.
    if (result < 0 && result != NLOPT_ROUNDOFF_LIMITED && result != NLOPT_FAILURE) {
      throw Error(ErrorKind::kInternal, "the fit of the prediction prior failed");
    }
  }
  const Eigen::VectorXd share = softmax(Eigen::Map<Eigen::VectorXd>(x.data(), forms.size()));
  return {share.data(), share.data() + share.size()};
}

/// Places that share their weights: with one or two counts only leaving the host is told apart.
int weight_class(Evidence evidence, Place place) {
  if (evidence == Evidence::kMoreCounts) return static_cast<int>(place);
  return evidence != Evidence::kSharedWork && place == Place::kLeaving ? 1 : 0;
}

}  // namespace

PlaceWeights fit_weights(const std::vector<LearningRow>& rows, Evidence evidence) {
  PlaceWeights weights;
  for (int p = 0; p < kPlaceCount; ++p) {
    const int own = weight_class(evidence, static_cast<Place>(p));
    std::vector<const LearningRow*> taken;
    for (const LearningRow& row : rows) {
      if (weight_class(evidence, row.situation.place) == own) taken.push_back(&row);
    }
    weights[static_cast<std::size_t>(p)] = fit_weights_of(taken, evidence);
  }
  return weights;
}

}  // namespace lockstep::predict
