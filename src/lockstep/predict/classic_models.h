#pragma once

#include <string_view>

#include "lockstep/predict/scaling_series.h"

namespace lockstep::predict {

/// Simple predictors from the literature, to be beaten: they state no interval.
enum class ClassicModel {
  kPerfect,   ///< efficiency of the last count kept
  kPowerLaw,  ///< through the last two counts
  kAmdahl,    ///< time = a + b/n, non-negative least squares
  kErnest,  ///< step time = a + b/n + c log n + d n, non-negative least squares (Venkataraman 2016)
  kGoodput,  ///< AdaptDL's overlap of compute and synchronisation (Qiao 2021)
};

inline constexpr int kClassicCount = 5;

std::string_view classic_name(ClassicModel model);

/// The rate at `target`; positive and finite. The series must have a point.
double predict_classic(ClassicModel model, const ScalingSeries& series, const ScalingPoint& target);

}  // namespace lockstep::predict
