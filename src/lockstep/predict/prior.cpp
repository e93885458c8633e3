#include "lockstep/predict/prior.h"

#include <algorithm>
#include <cmath>

namespace lockstep::predict {
namespace {

/// Standardised values beyond this say no more than this: keeps odd series from running away.
constexpr double kLargestDeviation = 2.5;
constexpr double kLargestOwnError = 0.7;

double standardised(double value, double center, double scale) {
  return std::clamp((value - center) / scale, -kLargestDeviation, kLargestDeviation);
}

double log_size(double value) {
  return std::log(std::fabs(value) + 0.01);
}

std::vector<double> weights_of(const Gate& gate, const Situation& situation) {
  const std::size_t features = gate.features.size();
  std::vector<double> weights;
  for (std::size_t f = 0; f < gate.forms.size(); ++f) {
    const auto form = static_cast<std::size_t>(gate.forms[f]);
    double score =
        gate.bias[f] - gate.own_weight * std::min(situation.own_errors[form], kLargestOwnError);
    for (std::size_t j = 0; j < features; ++j) {
      score += gate.weight[f * features + j] *
               standardised(situation[gate.features[j]], gate.center[j], gate.scale[j]);
    }
    weights.push_back(score);
  }
  const double highest = *std::max_element(weights.begin(), weights.end());
  double sum = 0;
  for (double& weight : weights) sum += weight = std::exp(weight - highest);
  for (double& weight : weights) weight /= sum;
  return weights;
}

}  // namespace

Mixture mix(const std::vector<Gate>& gates, const Situation& situation) {
  const std::vector<Form>& forms = gates.front().forms;
  Mixture mixture;
  mixture.weights.assign(forms.size(), 0);
  for (const Gate& gate : gates) {
    const std::vector<double> weights = weights_of(gate, situation);
    for (std::size_t f = 0; f < forms.size(); ++f) {
      mixture.weights[f] += weights[f] / static_cast<double>(gates.size());
    }
  }
  for (std::size_t f = 0; f < forms.size(); ++f) {
    mixture.change += mixture.weights[f] * situation.forms[static_cast<std::size_t>(forms[f])];
  }
  return mixture;
}

std::array<double, kShapeTerms> shape_terms(const std::vector<Form>& forms,
                                            const Situation& situation, const Mixture& mixture) {
  double variance = 0;
  double lowest = 1e300;
  double highest = -1e300;
  for (std::size_t f = 0; f < forms.size(); ++f) {
    const double change = situation.forms[static_cast<std::size_t>(forms[f])];
    variance += mixture.weights[f] * (change - mixture.change) * (change - mixture.change);
    lowest = std::min(lowest, change);
    highest = std::max(highest, change);
  }
  return {log_size(std::sqrt(variance)),
          log_size(highest - lowest),
          log_size(situation[Feature::kLastSlope]),
          log_size(situation[Feature::kRoughness]),
          std::log(situation[Feature::kDoublings]),
          log_size(situation[Feature::kMeanSlope])};
}

int regime(const Situation& situation) {
  if (situation[Feature::kCrossesNext] > 0) return 1;
  if (situation[Feature::kJustCrossed] > 0) return 2;
  return situation[Feature::kBeyond] > 0 ? 3 : 0;
}

std::vector<double> spread_terms(const SpreadModel& model,
                                 const std::array<double, kShapeTerms>& shape, int regime) {
  std::array<double, kShapeTerms> z{};
  for (std::size_t i = 0; i < z.size(); ++i) {
    z[i] = standardised(shape[i], model.center[i], model.scale[i]);
  }
  std::vector<double> terms{1.0};
  terms.insert(terms.end(), z.begin(), z.end());
  for (int r = 1; r < kRegimes; ++r) terms.push_back(r == regime ? 1 : 0);
  return terms;
}

double spread_scale(const SpreadModel& model, const std::array<double, kShapeTerms>& shape,
                    int regime) {
  const std::vector<double> terms = spread_terms(model, shape, regime);
  double log_scale = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) log_scale += model.coefficient[i] * terms[i];
  return std::exp(std::clamp(log_scale, std::log(0.003), std::log(0.8)));
}

}  // namespace lockstep::predict
