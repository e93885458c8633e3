#pragma once

#include <string_view>

#include "lockstep/predict/scaling/scaling_series.h"

namespace lockstep::predict {

/// Simple predictors from the literature, to be beaten: they state no interval.
enum class ClassicModel {
  kPerfect,        ///< efficiency of the last count kept
  kPowerLaw,       ///< through the last two counts
  kShrunkenPower,  ///< half of the loss per doubling of the last two counts
  kPowerOfAll,     ///< least squares through all counts, from the last one on
  kAmdahl,         ///< time = a + b/n, non-negative least squares
  kAmdahlLast,     ///< time = a + b/n through the last two counts
  kErnest,  ///< step time = a + b/n + c log n + d n, non-negative least squares (Venkataraman 2016)
  kGoodput,  ///< AdaptDL's overlap of compute and synchronisation (Qiao 2021)
};

inline constexpr int kClassicCount = 8;

std::string_view classic_name(ClassicModel model);

/// The rate at `target`; positive and finite. The series must have a point.
double predict_classic(ClassicModel model, const ScalingSeries& series, const ScalingPoint& target);

}  // namespace lockstep::predict
