#pragma once

#include <optional>
#include <vector>

#include "lockstep/advise/candidates.h"
#include "lockstep/advise/learned_quality.h"
#include "lockstep/analyze/verdict/verdict_parts.h"

namespace lockstep::advise {

/// Up to which of its measured counts each step of a series pays, by analyze::kPayingShare.
struct PayingCount {
  double workers = 0;             ///< the largest count up to which every step pays
  std::optional<double> next{};   ///< the next larger measured count, whose step does not pay
  std::optional<double> share{};  ///< of the best possible gain, that the step to `next` gives
  bool only_one = false;          ///< one count was measured
  /// What slowed the runs on `workers` down, where the step to `next` gave more than the ideal gain
  /// for that reason; see analyze::is_disturbed_gain().
  std::string disturbed{};
};

/// One for each series of the job. Without a target it is the verdict's, from the measured figures
/// that the verdict uses; with one, or where the verdict has no series, from the candidates' times.
std::vector<PayingCount> paying_counts(const std::vector<predict::TableSeries>& series,
                                       const std::vector<Candidate>& candidates,
                                       std::span<const analyze::SpeedupGroup> groups,
                                       bool to_target);

struct Choice {
  std::size_t at = 0;    ///< the candidate to use
  bool feasible = true;  ///< it keeps deadline and budget 9 times of 10
  /// What would be used if only time and cost counted, where that learned less.
  std::optional<std::size_t> passed_over{};
  std::optional<std::size_t> next_best{};
};

/// The one rule that names a configuration.
///
/// Of each series the largest measured count up to which each step pays; of those the ones that
/// learned as well as the best; of those the least product of time and cost. A deadline asks for
/// the cheapest that keeps it, a budget alone for the fastest within it: among the counts that were
/// run and learned as well as the best, else among predicted ones that the hosts have room for,
/// else among all. Where nothing keeps the limits, what comes nearest. An objective replaces time x
/// cost, and the cheapest and the fastest, by its own figure: the least of the counts that were run
/// and learned as well as the best. Throws kData for energy that was not measured.
Choice choose(const std::vector<Candidate>& candidates, const std::vector<PayingCount>& paying,
              const LearnedQuality& quality, const Terms& terms);

}  // namespace lockstep::advise
