#include <nlopt.h>

#include <Eigen/Dense>
#include <cmath>
#include <memory>

#include "lockstep/base/error.h"
#include "lockstep/base/statistics.h"
#include "lockstep/predict/prior_fit.h"

namespace lockstep::predict {
namespace {

constexpr double kRidge = 1e-3;
constexpr double kBiasRidge = 1e-4;
/// |error| is rounded off below this, so that the loss has a gradient everywhere.
constexpr double kSmoothing = 0.03;
/// Errors above this count at a third: a factor of two is as wrong as a factor of three.
constexpr double kLargeError = 0.7;
constexpr double kLargeErrorSlope = 0.3;

/// The learning problem as matrices, one row a situation.
struct Problem {
  Eigen::MatrixXd z;       ///< rows x features, standardised
  Eigen::MatrixXd change;  ///< rows x forms
  Eigen::MatrixXd own;     ///< rows x forms
  Eigen::VectorXd actual;
  Eigen::VectorXd weight;  ///< adds up to 1
};

std::vector<Form> forms_of(Evidence evidence) {
  if (evidence == Evidence::kOnePoint) return {Form::kSteady, Form::kTypicalLoss, Form::kSteepLoss};
  if (evidence == Evidence::kTwoPoints) {
    return {Form::kSteady,    Form::kRing,        Form::kTree,     Form::kLinear,
            Form::kPowerLast, Form::kTypicalLoss, Form::kSteepLoss};
  }
  return {Form::kSteady,   Form::kRing,     Form::kTree, Form::kLinear,   Form::kPowerLast,
          Form::kPowerAll, Form::kPrevious, Form::kBest, Form::kIncrement};
}

/// Besides the host boundary, which every gate has.
std::vector<Feature> shape_features(Evidence evidence) {
  if (evidence == Evidence::kOnePoint) {
    return {Feature::kCrossesNext, Feature::kLastCount, Feature::kDoublings};
  }
  if (evidence == Evidence::kTwoPoints) {
    return {Feature::kLastSlope,   Feature::kLargestRise, Feature::kCrossesNext, Feature::kBeyond,
            Feature::kJustCrossed, Feature::kLastCount,   Feature::kDoublings};
  }
  return {Feature::kLastSlope, Feature::kCurvature, Feature::kCrossesNext, Feature::kJustCrossed,
          Feature::kBeyond,    Feature::kDoublings, Feature::kRoughness,   Feature::kLargestRise};
}

void standardise(Gate& gate, const std::vector<LearningRow>& rows) {
  for (Feature feature : gate.features) {
    std::vector<double> values;
    for (const LearningRow& row : rows) values.push_back(row.situation[feature]);
    const Summary summary = summarize(values);
    gate.center.push_back(summary.median);
    gate.scale.push_back(summary.deviation + 1e-3);
  }
}

Problem make_problem(const Gate& gate, const std::vector<LearningRow>& rows) {
  const auto n = static_cast<Eigen::Index>(rows.size());
  const auto p = static_cast<Eigen::Index>(gate.features.size());
  const auto q = static_cast<Eigen::Index>(gate.forms.size());
  Problem problem{Eigen::MatrixXd(n, p), Eigen::MatrixXd(n, q), Eigen::MatrixXd(n, q),
                  Eigen::VectorXd(n), Eigen::VectorXd(n)};
  for (Eigen::Index r = 0; r < n; ++r) {
    const LearningRow& row = rows[static_cast<std::size_t>(r)];
    for (Eigen::Index j = 0; j < p; ++j) {
      const auto at = static_cast<std::size_t>(j);
      const double z = (row.situation[gate.features[at]] - gate.center[at]) / gate.scale[at];
      problem.z(r, j) = std::clamp(z, -2.5, 2.5);
    }
    for (Eigen::Index f = 0; f < q; ++f) {
      const auto form = static_cast<std::size_t>(gate.forms[static_cast<std::size_t>(f)]);
      problem.change(r, f) = row.situation.forms[form];
      problem.own(r, f) = std::min(row.situation.own_errors[form], 0.7);
    }
    problem.actual(r) = row.actual;
    problem.weight(r) = row.gate_weight;
  }
  problem.weight /= problem.weight.sum();
  return problem;
}

/// Loss and gradient; parameters are the weights (features x forms, column by column), the biases
/// and the root of own_weight.
double loss(unsigned count, const double* x, double* gradient, void* data) {
  const Problem& problem = *static_cast<const Problem*>(data);
  const Eigen::Index p = problem.z.cols();
  const Eigen::Index q = problem.change.cols();
  const Eigen::Map<const Eigen::MatrixXd> weight(x, p, q);
  const Eigen::Map<const Eigen::RowVectorXd> bias(x + p * q, q);
  const double root = x[count - 1];
  Eigen::MatrixXd score = problem.z * weight - root * root * problem.own;
  score.rowwise() += bias;
  score.colwise() -= score.rowwise().maxCoeff().eval();
  Eigen::MatrixXd share = score.array().exp();
  share.array().colwise() /= share.rowwise().sum().array().eval();
  const Eigen::VectorXd predicted = (share.array() * problem.change.array()).rowwise().sum();
  double total = kRidge * weight.squaredNorm() + kBiasRidge * bias.squaredNorm();
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
    Eigen::MatrixXd by_score = share.array() * (problem.change.colwise() - predicted).array();
    by_score.array().colwise() *= slope.array();
    Eigen::Map<Eigen::MatrixXd>(gradient, p, q) =
        problem.z.transpose() * by_score + 2 * kRidge * weight;
    Eigen::Map<Eigen::RowVectorXd>(gradient + p * q, q) =
        by_score.colwise().sum() + 2 * kBiasRidge * bias;
    gradient[count - 1] = -2 * root * (by_score.array() * problem.own.array()).sum();
  }
  return total;
}

Gate fit_gate(const std::vector<LearningRow>& rows, std::vector<Form> forms,
              std::vector<Feature> features) {
  Gate gate;
  gate.forms = std::move(forms);
  gate.features = std::move(features);
  standardise(gate, rows);
  Problem problem = make_problem(gate, rows);
  const std::size_t p = gate.features.size();
  const std::size_t q = gate.forms.size();
  std::vector<double> x(p * q + q + 1, 0.0);
  x.back() = std::sqrt(3.0);
  const std::unique_ptr<nlopt_opt_s, decltype(&nlopt_destroy)> optimizer(
      nlopt_create(NLOPT_LD_LBFGS, static_cast<unsigned>(x.size())), nlopt_destroy);
  nlopt_set_min_objective(optimizer.get(), loss, &problem);
  nlopt_set_maxeval(optimizer.get(), 400);
  nlopt_set_ftol_rel(optimizer.get(), 1e-7);
  double value = 0;
  const nlopt_result result = nlopt_optimize(optimizer.get(), x.data(), &value);
  // Round-off near the optimum is how L-BFGS often ends; the point where it stopped is good.
  if (result < 0 && result != NLOPT_ROUNDOFF_LIMITED && result != NLOPT_FAILURE) {
    throw Error(ErrorKind::kInternal, "the fit of the prediction prior failed");
  }
  for (std::size_t f = 0; f < q; ++f) {
    for (std::size_t j = 0; j < p; ++j) gate.weight.push_back(x[f * p + j]);
    gate.bias.push_back(x[p * q + f]);
  }
  gate.own_weight = x.back() * x.back();
  return gate;
}

}  // namespace

std::vector<Gate> fit_gates(const std::vector<LearningRow>& rows, Evidence evidence) {
  // What a shape predicts differs from source to source: a gate that uses all of it is the better
  // one on sources it has seen, one that uses the host boundary alone on those it has not. Their
  // mean is next to the better of the two on either.
  return {fit_gate(rows, forms_of(evidence), {Feature::kCrossesNext}),
          fit_gate(rows, forms_of(evidence), shape_features(evidence))};
}

}  // namespace lockstep::predict
