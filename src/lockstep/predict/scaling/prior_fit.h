#pragma once

#include <string>
#include <vector>

#include "lockstep/predict/scaling/prior.h"

namespace lockstep::predict {

/// A measured series to learn from. Series of one group (same source, model and device, say at
/// several batches) are much alike: they are held out together.
struct LearningSeries {
  ScalingSeries series;
  std::string group;
  std::string source;  ///< who published it; all that one source measured is alike, too
  std::string kind;    ///< weak, strong, mixed or "not stated"
};

/// One situation met in a series, with what really came.
struct LearningRow {
  Situation situation;
  double actual = 0;      ///< log efficiency at the target relative to the last seen point
  double fit_weight = 1;  ///< in the fit of the form weights
  double spread_weight = 1;
  std::string group;
  std::string source;
};

/// Every target of every prefix of the series. The largest count from all others weighs most, as it
/// is what a user asks; the next count from a shorter prefix and counts further off weigh less.
std::vector<LearningRow> learning_rows(const std::vector<LearningSeries>& series,
                                       Evidence evidence);

using PlaceWeights = std::array<std::vector<double>, kPlaceCount>;

/// The weights of the forms at each place: minimise the weighted mean absolute log error, bounded
/// for outliers, with a ridge penalty that pulls them together.
PlaceWeights fit_weights(const std::vector<LearningRow>& rows, Evidence evidence);

/// Fits the scale to residuals that cross-validation left, and takes the quantiles of those
/// residuals over scales that did not see their source (or group, where there are few sources).
SpreadModel fit_spread(const std::vector<LearningRow>& rows, const std::vector<Mixture>& held_out);

/// Fewer series than this are too few to fit a prior of their own to.
inline constexpr std::size_t kEnoughForPrior = 60;

/// The whole prior. Throws kData when there are too few series to learn from (below 20).
Prior fit_prior(const std::vector<LearningSeries>& series, std::string provenance);

/// Splits groups into folds, the same way every time; the fold of each element of `groups`.
std::vector<int> group_folds(const std::vector<std::string>& groups, int folds);

/// The prior as the C++ source of shipped_prior().
std::string prior_source(const Prior& prior);

}  // namespace lockstep::predict
