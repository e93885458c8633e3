#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "lockstep/predict/scaling/scaling_series.h"

namespace lockstep::predict {

/// The ways a series may go on. Each is simple and wrong in its own way; a prediction is an average
/// of some of them (see prior.h). t is the time one worker needs for its share of the work.
enum class Form {
  kSteady,       ///< efficiency stays: perfect scaling from the last count
  kRing,         ///< t grows as 1 - 1/n: bandwidth-bound ring all-reduce; last two counts
  kSerial,       ///< t grows as n: serialised communication, Amdahl's law; last two counts
  kPowerLast,    ///< the last two counts' loss per doubling goes on
  kMedianLoss,   ///< the median of the losses per doubling from count to count goes on
  kAmdahl,       ///< Amdahl's law through all counts
  kErnest,       ///< Ernest's features through all counts
  kTypicalLoss,  ///< what others lose per doubling, by the kind of scaling and the count
  kShareLast,    ///< t = a + c w, w the share of one worker; last two counts of unlike share
  kShareAll,     ///< the same through all counts
};

inline constexpr int kFormCount = 10;

std::string_view form_name(Form form);

/// log(efficiency at `target` / efficiency at the last point) by each form. Always finite. Forms
/// that need more points than there are give 0 (steady). The series must have a point, and
/// `target.workers` must exceed its last count.
std::array<double, kFormCount> evaluate_forms(const ScalingSeries& series,
                                              const ScalingPoint& target);

}  // namespace lockstep::predict
