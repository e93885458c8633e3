#pragma once

#include <string>
#include <vector>

#include "lockstep/predict/prior.h"

namespace lockstep::predict {

/// A measured series to learn from. Series of one group (same source, model and device, say at
/// several batches) are much alike: they are held out together.
struct LearningSeries {
  ScalingSeries series;
  std::string group;
  std::string source;  ///< who published it; all that one source measured is alike, too
};

/// One situation met in a series, with what really came.
struct LearningRow {
  Situation situation;
  double actual = 0;  ///< log efficiency at the target relative to the last seen point
  double gate_weight = 1;
  double spread_weight = 1;
  std::string group;
};

/// Every target of every prefix of the series. The largest count from all others weighs most, as it
/// is what a user asks; the next count from a shorter prefix and counts further off weigh less.
std::vector<LearningRow> learning_rows(const std::vector<LearningSeries>& series,
                                       Evidence evidence);

/// Fits the weights of the forms, by the host boundary alone and by all of the shape: each
/// minimises the weighted mean absolute log error, bounded for outliers, with a ridge penalty.
std::vector<Gate> fit_gates(const std::vector<LearningRow>& rows, Evidence evidence);

/// Fits the scale to residuals that grouped cross-validation left, and takes the quantiles of those
/// residuals over scales that did not see their group.
SpreadModel fit_spread(const std::vector<Form>& forms, const std::vector<LearningRow>& rows,
                       const std::vector<Mixture>& held_out);

/// Fewer series than this are too few to fit a prior of their own to.
inline constexpr std::size_t kEnoughForPrior = 60;

/// The whole prior. Throws kData when there are too few series to learn from (below 20).
Prior fit_prior(const std::vector<LearningSeries>& series, std::string provenance);

/// Splits groups into folds, the same way every time; the fold of each element of `groups`.
std::vector<int> group_folds(const std::vector<std::string>& groups, int folds);

/// The prior as the C++ source of shipped_prior().
std::string prior_source(const Prior& prior);

}  // namespace lockstep::predict
