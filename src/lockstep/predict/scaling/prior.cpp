#include "lockstep/predict/scaling/prior.h"

#include <algorithm>
#include <cmath>

namespace lockstep::predict {
namespace {

/// Standardised values beyond this say no more than this: keeps odd series from running away.
constexpr double kLargestDeviation = 2.5;
/// A form that has been wrong by this much (log) more than another keeps 1/e of its weight.
constexpr double kTrust = 0.03;

double standardised(double value, double center, double scale) {
  return std::clamp((value - center) / scale, -kLargestDeviation, kLargestDeviation);
}

double log_size(double value) {
  return std::log(std::fabs(value) + 0.01);
}

/// A long series shows itself which forms describe it.
void trust_own_errors(std::vector<double>& weights, const Situation& situation) {
  const std::vector<Form>& forms = forms_of(situation.evidence);
  const auto error = [&](Form form) {
    return situation.own_errors[static_cast<std::size_t>(form)];
  };
  double least = error(forms.front());
  for (const Form form : forms) least = std::min(least, error(form));
  double total = 0;
  for (std::size_t f = 0; f < forms.size(); ++f) {
    weights[f] *= std::exp((least - error(forms[f])) / kTrust);
    total += weights[f];
  }
  for (double& weight : weights) weight /= total;
}

}  // namespace

const std::vector<Form>& forms_of(Evidence evidence) {
  // Chosen by leaving out whole sources; docs/internals/prediction-choice.md has what was tried.
  static const std::array<std::vector<Form>, kEvidenceCount> forms{
      std::vector{Form::kSteady, Form::kTypicalLoss, Form::kSteepLoss},
      std::vector{Form::kSteady, Form::kRing, Form::kSerial, Form::kPowerLast, Form::kTypicalLoss,
                  Form::kSteepLoss},
      std::vector{Form::kSteady, Form::kRing, Form::kSerial, Form::kMedianLoss, Form::kErnest,
                  Form::kAmdahl, Form::kPrevious},
      std::vector{Form::kShareLast, Form::kShareAll, Form::kShareGrowth}};
  return forms[static_cast<std::size_t>(evidence)];
}

Mixture mix(const std::vector<double>& weights, const Situation& situation) {
  const std::vector<Form>& forms = forms_of(situation.evidence);
  Mixture mixture{weights, 0};
  if (situation.evidence == Evidence::kMoreCounts) trust_own_errors(mixture.weights, situation);
  for (std::size_t f = 0; f < forms.size(); ++f) {
    mixture.change += mixture.weights[f] * situation.form(forms[f]);
  }
  return mixture;
}

Mixture mix(const EvidencePrior& prior, const Situation& situation) {
  return mix(prior.weights[static_cast<std::size_t>(situation.place)], situation);
}

std::array<double, kShapeTerms> shape_terms(const Situation& situation, const Mixture& mixture) {
  const std::vector<Form>& forms = forms_of(situation.evidence);
  double variance = 0;
  double lowest = 1e300;
  double highest = -1e300;
  for (std::size_t f = 0; f < forms.size(); ++f) {
    const double change = situation.form(forms[f]);
    variance += mixture.weights[f] * (change - mixture.change) * (change - mixture.change);
    lowest = std::min(lowest, change);
    highest = std::max(highest, change);
  }
  return {log_size(std::sqrt(variance)),  log_size(highest - lowest),
          log_size(situation.last_slope), log_size(situation.roughness),
          std::log(situation.doublings),  log_size(situation.mean_slope)};
}

std::vector<double> spread_terms(const SpreadModel& model,
                                 const std::array<double, kShapeTerms>& shape, Place place) {
  std::vector<double> terms{1.0};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    terms.push_back(standardised(shape[i], model.center[i], model.scale[i]));
  }
  for (int p = 1; p < kPlaceCount; ++p) terms.push_back(p == static_cast<int>(place) ? 1 : 0);
  return terms;
}

double spread_scale(const SpreadModel& model, const std::array<double, kShapeTerms>& shape,
                    Place place) {
  const std::vector<double> terms = spread_terms(model, shape, place);
  double log_scale = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) log_scale += model.coefficient[i] * terms[i];
  return std::exp(std::clamp(log_scale, std::log(0.003), std::log(0.8)));
}

}  // namespace lockstep::predict
