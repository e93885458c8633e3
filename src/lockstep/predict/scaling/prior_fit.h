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

/// Fewer series than this are too few to fit a prior of their own to.
inline constexpr std::size_t kEnoughForPrior = 60;

/// The quantiles of the errors that predictions of these series have: of every count from every
/// part of the series below it; the shipped ones where there are too few (below 20) to take
/// quantiles of. Throws kData when there are too few series (below 20).
Prior fit_prior(const std::vector<LearningSeries>& series, std::string provenance);

/// Splits groups into folds, the same way every time; the fold of each element of `groups`.
std::vector<int> group_folds(const std::vector<std::string>& groups, int folds);

/// The prior as the C++ source of shipped_prior().
std::string prior_source(const Prior& prior);

}  // namespace lockstep::predict
