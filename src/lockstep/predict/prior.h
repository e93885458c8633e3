#pragma once

#include <array>
#include <string>
#include <vector>

#include "lockstep/predict/scaling_features.h"

namespace lockstep::predict {

/// Weight of each form in a situation: softmax over forms of
///   bias_f + sum_j weight_fj z_j - own_weight * own_error_f,
/// z_j the standardised features, own_error_f what the form got wrong on the series itself.
struct Gate {
  std::vector<Form> forms;
  std::vector<Feature> features;
  std::vector<double> center;  ///< per feature
  std::vector<double> scale;   ///< per feature
  std::vector<double> weight;  ///< forms x features, row by row
  std::vector<double> bias;    ///< per form
  double own_weight = 0;
};

/// Half-width of the interval in a situation: the scale exp(coefficient . terms), times the
/// quantiles that residuals of that scale had in cross-validation (conformal prediction).
struct SpreadModel {
  std::vector<double> center;       ///< per shape term
  std::vector<double> scale;        ///< per shape term
  std::vector<double> coefficient;  ///< intercept, shape terms, regimes
  double low_quantile = -2;         ///< 5 % of the scaled residuals lie below
  double high_quantile = 2;         ///< 5 % lie above
};

struct EvidencePrior {
  std::vector<Gate> gates;  ///< of the same forms; their weights are averaged
  SpreadModel spread;
  std::size_t rows = 0;  ///< situations it was fitted to
};

/// Quantiles of the error of log-linear interpolation between two measured neighbours, in units of
/// 0.01 + the difference of their log efficiencies.
struct InteriorPrior {
  double low_quantile = -1;
  double high_quantile = 1;
};

/// What other people's series say about how series go on: fitted once by tools/fit-prior, shipped
/// as numbers.
struct Prior {
  std::array<EvidencePrior, kEvidenceCount> evidence;
  InteriorPrior interior;
  std::string provenance;

  const EvidencePrior& of(Evidence e) const { return evidence[static_cast<std::size_t>(e)]; }
};

const Prior& shipped_prior();

/// How the mixture came out in one situation, in log efficiency relative to the last point.
struct Mixture {
  std::vector<double> weights;  ///< per form of the gates; they add up to 1
  double change = 0;            ///< weighted mean of the forms
};

/// The mean of what the gates say. They must have the same forms; at least one.
Mixture mix(const std::vector<Gate>& gates, const Situation& situation);

inline constexpr int kShapeTerms = 6;
inline constexpr int kRegimes = 4;
/// Terms of SpreadModel: the shape terms are logarithms of the forms' disagreement (weighted and
/// whole), the last slope, the roughness, the doublings ahead and the mean slope.
std::array<double, kShapeTerms> shape_terms(const std::vector<Form>& forms,
                                            const Situation& situation, const Mixture& mixture);
/// 0 inside a host, 1 about to leave it, 2 just left it, 3 well beyond.
int regime(const Situation& situation);
/// The regressors of SpreadModel in the order of its coefficients.
std::vector<double> spread_terms(const SpreadModel& model,
                                 const std::array<double, kShapeTerms>& shape, int regime);
/// The scale; positive and bounded.
double spread_scale(const SpreadModel& model, const std::array<double, kShapeTerms>& shape,
                    int regime);

}  // namespace lockstep::predict
