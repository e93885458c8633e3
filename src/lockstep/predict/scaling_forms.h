#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "lockstep/predict/scaling_series.h"

namespace lockstep::predict {

/// The ways a series may go on. Each is simple and wrong in its own way; a prediction is a mixture
/// of them whose weights depend on the shape of the series (see prior.h). t is the time one worker
/// needs for its share of the work, 1 at the first count.
enum class Form {
  kSteady,       ///< efficiency stays: perfect scaling from the last count
  kRing,         ///< t grows as 1 - 1/n: bandwidth-bound ring all-reduce
  kTree,         ///< t grows as log n: latency-bound tree or ring over hosts
  kLinear,       ///< t grows as n: serialised or central communication
  kPowerLast,    ///< the last two counts' loss per doubling goes on
  kPowerAll,     ///< loss per doubling of a line through all counts
  kPrevious,     ///< the last count was an outlier: back to the efficiency before it
  kBest,         ///< back to the best efficiency seen beyond the first count
  kIncrement,    ///< t grows by as much per doubling as it last did
  kTypicalLoss,  ///< 4 % of the logarithm lost per doubling, for any measurement
  kSteepLoss,    ///< 35 % lost per doubling, as when a slow link is crossed
};

inline constexpr int kFormCount = 11;

std::string_view form_name(Form form);

/// log(efficiency at `target` / efficiency at the last point) by each form. Always finite. Forms
/// that need more points than there are give 0 (steady). `logs` are the log efficiencies of
/// `points`; target > last count. `comparable` is the first point whose efficiency may come back:
/// those before it ran on one host, the last one on several (see first_across_hosts).
std::array<double, kFormCount> evaluate_forms(const std::vector<ScalingPoint>& points,
                                              const std::vector<double>& logs, double target,
                                              std::size_t comparable = 0);

}  // namespace lockstep::predict
