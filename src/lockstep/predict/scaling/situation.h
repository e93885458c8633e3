#pragma once

#include <array>

#include "lockstep/predict/scaling/scaling_forms.h"

namespace lockstep::predict {

/// What a series can support: the forms that are averaged depend on it.
enum class Evidence {
  kOneCount,
  kTwoCounts,
  kMoreCounts,
  kSharedWork,  ///< two counts or more of a series whose workers share the work out
};

/// What is known of the work that is shared out.
enum class WorkSplit {
  kNone,
  kGlobalBatch,  ///< fixed: strong scaling
  kBatches,      ///< the batch of each worker is known and changes; the work does not
  kWholeRuns,    ///< times of runs: more workers with more examples per step may need more epochs
};

/// Where the target lies relative to the step from one host to several.
enum class Place { kInside, kLeaving, kJustLeft, kBeyond };

inline constexpr int kPlaceCount = 4;

/// A series and a target in the terms of the model. Losses are log efficiency per doubling of
/// workers, negative when efficiency falls.
struct Situation {
  Evidence evidence = Evidence::kOneCount;
  WorkSplit split = WorkSplit::kNone;
  std::size_t counts = 0;  ///< of workers that were measured
  Place place = Place::kInside;
  bool host_size_known = true;  ///< otherwise the place is that of a usual host
  double last_slope = 0;        ///< between the last two counts
  /// Inside a host, the last count lost much and none before it anything like that: as often a
  /// disturbance as a law.
  bool sudden_loss = false;
  double roughness = 0;                    ///< mean absolute change of the slope
  double largest_rise = 0;                 ///< largest positive slope, else 0
  double doublings = 0;                    ///< log2(target / last count)
  std::array<double, kFormCount> forms{};  ///< see evaluate_forms
  /// Sum of what each form got wrong (absolute, log) on earlier steps of the series, each predicted
  /// from the counts below it. Steps at another place than the target's do not count.
  std::array<double, kFormCount> own_errors{};

  double form(Form form) const { return forms[static_cast<std::size_t>(form)]; }
};

/// The series must not be empty and `target.workers` must exceed its last count.
Situation describe(const ScalingSeries& series, const ScalingPoint& target);

}  // namespace lockstep::predict
