#pragma once

#include <string>
#include <vector>

#include "lockstep/predict/scaling/prior.h"

namespace lockstep::predict {

/// How much a form had to say in a prediction.
struct FormShare {
  Form form = Form::kSteady;
  double weight = 0;
};

/// The rate at a worker count that was not measured, with the interval that 9 of 10 such
/// predictions cover. 0 < low <= rate <= high, all finite.
struct ScalingPrediction {
  double workers = 0;
  double rate = 0;
  double low = 0;
  double high = 0;
  /// Predicted efficiency against the smallest measured count.
  double efficiency = 0;
  bool measured = false;           ///< the count itself was measured: rate is that measurement
  std::vector<FormShare> shares;   ///< largest first; empty unless the count lies beyond the data
  std::vector<std::string> width;  ///< reasons for the width of the interval, strongest first
  /// What the data cannot distinguish and the run that would, one sentence each.
  std::vector<std::string> unknowns;
};

/// Predicts the rate at `target.workers` (nodes 0 = not known). Throws kData with what is missing
/// when the series has no usable point, kUsage when the target is not a positive count.
ScalingPrediction predict_rate(const ScalingSeries& series, const ScalingPoint& target,
                               const Prior& prior = shipped_prior());

}  // namespace lockstep::predict
