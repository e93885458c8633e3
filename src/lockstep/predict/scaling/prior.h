#pragma once

#include <array>
#include <string>
#include <vector>

#include "lockstep/predict/scaling/situation.h"

namespace lockstep::predict {

/// The forms that are averaged with so much evidence.
const std::vector<Form>& forms_of(Evidence evidence);

/// Half-width of the interval in a situation: the scale exp(coefficient . terms), times the
/// quantiles that residuals of that scale had in cross-validation (conformal prediction).
struct SpreadModel {
  std::vector<double> center;       ///< per shape term
  std::vector<double> scale;        ///< per shape term
  std::vector<double> coefficient;  ///< intercept, shape terms, places but the first
  double low_quantile = -2;         ///< 5 % of the scaled residuals lie below
  double high_quantile = 2;         ///< 5 % lie above
};

struct EvidencePrior {
  /// Of the forms of this evidence, at each place; each adds up to 1.
  std::array<std::vector<double>, kPlaceCount> weights;
  SpreadModel spread;
  std::size_t rows = 0;  ///< situations it was fitted to
};

/// Quantiles of the error of log-linear interpolation between two measured neighbours, in units of
/// 0.01 + the difference of their log efficiencies.
struct InteriorPrior {
  double low_quantile = -1;
  double high_quantile = 1;
};

/// Central intervals whose coverage is checked: of 10 %, 20 %, ..., 90 %.
inline constexpr int kLevels = 9;
using Calibration = std::array<double, kLevels>;

/// What other people's series say about how series go on: fitted once by tools/fit-prior, shipped
/// as numbers.
struct Prior {
  std::array<EvidencePrior, kEvidenceCount> evidence;
  InteriorPrior interior;
  std::string provenance;
  /// Part of the largest counts that the interval of each level covered, each predicted by a prior
  /// that had seen nothing of its source.
  Calibration covered{};

  const EvidencePrior& of(Evidence e) const { return evidence[static_cast<std::size_t>(e)]; }
};

const Prior& shipped_prior();

/// How the average came out in one situation, in log efficiency relative to the last point.
struct Mixture {
  std::vector<double> weights;  ///< per form of the evidence; they add up to 1
  double change = 0;            ///< weighted mean of the forms
};

/// `weights` are those of the place, see EvidencePrior; what each form got wrong on the series
/// itself reduces its share.
Mixture mix(const std::vector<double>& weights, const Situation& situation);
Mixture mix(const EvidencePrior& prior, const Situation& situation);

inline constexpr int kShapeTerms = 6;
/// Terms of SpreadModel: logarithms of the forms' disagreement (weighted and whole), the last
/// slope, the roughness, the doublings ahead and the mean slope.
std::array<double, kShapeTerms> shape_terms(const Situation& situation, const Mixture& mixture);
/// The regressors of SpreadModel in the order of its coefficients.
std::vector<double> spread_terms(const SpreadModel& model,
                                 const std::array<double, kShapeTerms>& shape, Place place);
/// The scale; positive and bounded.
double spread_scale(const SpreadModel& model, const std::array<double, kShapeTerms>& shape,
                    Place place);

}  // namespace lockstep::predict
