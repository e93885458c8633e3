#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/advise/choice.h"
#include "lockstep/advise/next_run.h"

namespace lockstep::advise {

/// What was measured, as analyze and predict have it.
struct Measured {
  std::span<const analyze::Configuration> configurations;
  std::span<const analyze::SpeedupGroup> groups;
  std::vector<predict::TableSeries> series;
  /// Workers that the hosts at hand have room for, by model; see collect::host_rooms().
  std::map<std::string, std::int64_t> rooms{};
};

/// What to use for one job, a model and its data, and why. Every figure and sentence of it is made
/// here; commands and pages print them.
struct JobAdvice {
  std::string job;  ///< "fashion", or "fashion on fashion-mnist" where data sets differ
  std::vector<predict::TableSeries> series;
  std::vector<std::string> labels;  ///< of the series
  std::string time_means;           ///< see Candidates
  std::string cost_means;
  std::vector<Candidate> candidates;  ///< fastest first
  std::vector<PayingCount> paying;    ///< by series
  Choice choice;
  LearnedQuality quality;
  std::optional<double> room;  ///< workers that the host has room for, if that is known
  std::optional<NextRun> next;
  bool disturbed = false;  ///< other programs ran during some of the measured runs

  std::vector<std::string> why;           ///< reasons for the choice
  std::vector<std::string> alternatives;  ///< what else to consider, predictions among them
  std::vector<std::string> would_change;  ///< limits at which the choice would be another
  std::vector<std::string> caveats;       ///< what the comparison leaves out
  /// That the next larger count of the same series takes longer; absent when there is none.
  std::optional<double> more_is_slower;
  double more_workers = 0;  ///< that count

  const Candidate& chosen() const { return candidates[choice.at]; }
  /// "Use 2 workers, B = 512: 11.1 s for one epoch (measured), 0.0062 device-hours; 4 would be
  /// ...".
  std::string sentence() const;
  /// The same with the job in front, for a list of several.
  std::string sentence_of(std::size_t jobs) const;
};

/// One for each model and data set with a time that can be compared, in order of first appearance.
/// Throws kUsage as make_candidates() does; kData when there is no job with a known time.
std::vector<JobAdvice> advise(const Measured& measured, const Terms& terms = {});

/// As above; empty if that throws kData.
std::vector<JobAdvice> advise_if_possible(const Measured& measured, const Terms& terms = {});

}  // namespace lockstep::advise
