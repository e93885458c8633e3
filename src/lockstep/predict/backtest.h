#pragma once

#include <array>
#include <string>
#include <vector>

#include "lockstep/predict/scaling/classic_models.h"
#include "lockstep/predict/scaling/prior_fit.h"
#include "lockstep/predict/scaling/scaling_prediction.h"

namespace lockstep::predict {

/// The largest count of one series, predicted from all others.
struct HeldOut {
  std::string series;
  std::string source;
  std::string kind;  ///< see LearningSeries
  ScalingPoint actual;
  ScalingPrediction predicted;
  std::array<double, kClassicCount> classic{};  ///< rates by the simple predictors
};

/// Distribution of |predicted - actual| / actual of the rate, each error counted at most as 1.
struct ErrorSummary {
  double median = 0;
  double mean = 0;
  double ninetieth = 0;
  double within_tenth = 0;  ///< part of the series with an error of at most 10 %
};

struct Backtest {
  std::size_t series = 0;
  ErrorSummary ours;
  std::array<ErrorSummary, kClassicCount> classic;
  double coverage = 0;      ///< part of the series whose actual value lies in the interval
  double median_width = 0;  ///< of (high - low) / predicted
  /// The same for intervals of 10 % to 90 %: the logarithm is taken as normal on either side of the
  /// prediction, as wherever a probability is derived from an interval (odds.h).
  Calibration covered{};
  /// Mean error of ours with every error in full, and the series whose error is above 100 %: their
  /// rate was less than half of the prediction.
  double uncapped_mean = 0;
  std::size_t above_twice = 0;
};

/// Series of fewer than two counts cannot hold one out: nothing.
std::vector<HeldOut> hold_out_largest(const std::vector<LearningSeries>& series, const Prior& prior,
                                      bool with_classic);

/// What the prior is fitted without when a series is predicted.
enum class Unseen {
  kGroup,   ///< its source, model and device: a further series of a known source; in ten turns
  kSource,  ///< all of its source: the first series of a source nobody has seen; a turn a source
};

/// As above, but the prior is fitted again without what is called unseen: what to expect on series
/// that the prior has never seen.
std::vector<HeldOut> cross_validate_largest(const std::vector<LearningSeries>& series,
                                            Unseen unseen);

/// Whether the series come from enough sources, none of them too large a part, to learn about each
/// from the others.
bool can_hold_out_sources(const std::vector<LearningSeries>& series);

/// Throws kData when there is nothing to summarise.
Backtest summarize_backtest(const std::vector<HeldOut>& held_out);

/// The backtest of the series of one source, or of one kind of scaling.
struct PartOfBacktest {
  std::string name;
  Backtest result;
};

/// By `part_of` (source or kind), in order of name; series that do not say are left out.
std::vector<PartOfBacktest> backtest_by(const std::vector<HeldOut>& held_out,
                                        std::string HeldOut::*part_of);

}  // namespace lockstep::predict
