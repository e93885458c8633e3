#pragma once

#include <array>
#include <vector>

#include "lockstep/predict/host_boundary.h"
#include "lockstep/predict/scaling_forms.h"

namespace lockstep::predict {

/// What the mixture's weights and the interval's width depend on. Losses are log efficiency per
/// doubling of workers, negative when efficiency falls.
enum class Feature {
  kLastSlope,      ///< between the last two counts
  kPreviousSlope,  ///< between the two before
  kMeanSlope,      ///< from the first to the last count
  kRoughness,      ///< mean absolute change of the slope
  kLargestRise,    ///< largest positive slope, else 0
  kCrossesNext,
  kBeyond,
  kJustCrossed,
  kLastCount,  ///< log2 of the last count
  kPoints,     ///< number of counts, at most 6
  kDoublings,  ///< log2(target / last count)
  kCurvature,  ///< last slope - previous slope
};

inline constexpr int kFeatureCount = 12;

/// Which forms and features a series can support: it is modelled by the number of its counts.
enum class Evidence { kOnePoint, kTwoPoints, kThreeOrMore };

inline constexpr int kEvidenceCount = 3;

/// A series and a target in the terms of the model.
struct Situation {
  Evidence evidence = Evidence::kOnePoint;
  std::array<double, kFeatureCount> features{};
  std::array<double, kFormCount> forms{};  ///< see evaluate_forms
  /// Mean absolute error (log) each form made on this series, each count predicted from those below
  /// it, counts 3 and on; shrunk to 0 while there are few such checks.
  std::array<double, kFormCount> own_errors{};

  double operator[](Feature feature) const { return features[static_cast<std::size_t>(feature)]; }
};

/// The series must not be empty and `target.workers` must exceed its last count.
Situation describe(const ScalingSeries& series, const ScalingPoint& target);

}  // namespace lockstep::predict
