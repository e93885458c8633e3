#pragma once

#include <array>
#include <string>
#include <vector>

#include "lockstep/predict/scaling/situation.h"

namespace lockstep::predict {

/// The forms that are averaged in a situation: by what the series can support and by where the
/// target lies.
const std::vector<Form>& forms_of(const Situation& situation);

/// How the average came out in one situation, in log efficiency relative to the last point.
struct Mixture {
  std::vector<Form> forms;
  std::vector<double> weights;  ///< per form; they add up to 1
  double change = 0;            ///< weighted mean of the forms
};

/// All forms weigh the same, but for what each got wrong on the series itself.
Mixture mix(const Situation& situation);

/// What the error of a prediction is measured in: the loss per doubling that was seen last, and a
/// little more, over the doublings ahead. Positive; grows with the distance.
double spread_scale(const Situation& situation);

/// Quantiles of the errors of other series, in units of spread_scale().
struct SpreadPrior {
  double low_quantile = -3;
  double high_quantile = 2;
  std::size_t rows = 0;  ///< predictions of the prior's series that it was fitted to
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

/// How far off predictions of other people's series were: fitted once by tools/fit-prior, shipped
/// as numbers.
struct Prior {
  SpreadPrior one_count;
  SpreadPrior more_counts;
  SpreadPrior shared_work;
  InteriorPrior interior;
  std::string provenance;
  /// Part of the largest counts that the interval of each level covered, each predicted by a prior
  /// that had seen nothing of its source.
  Calibration covered{};

  const SpreadPrior& of(Evidence evidence) const {
    if (evidence == Evidence::kSharedWork) return shared_work;
    return evidence == Evidence::kOneCount ? one_count : more_counts;
  }
};

const Prior& shipped_prior();

}  // namespace lockstep::predict
