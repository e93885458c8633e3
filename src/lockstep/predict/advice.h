#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/predict/job_prediction.h"
#include "lockstep/predict/time_to_accuracy.h"

namespace lockstep::predict {

/// One way to run the job.
struct Candidate {
  std::size_t series = 0;  ///< index into the question's measured series
  std::string name;        ///< of that series
  std::string device;
  JobPrediction job;
  double workers = 0;
  Estimate time_s;
  Estimate cost;              ///< in the currency of the prices; device-hours without prices
  double meets_deadline = 1;  ///< probability
  double meets_budget = 1;    ///< probability
  bool pareto = false;        ///< none is both faster and cheaper
  bool measured = false;      ///< the time is that of a measured run, not a prediction
};

struct AdviceQuestion {
  std::vector<TableSeries> measured;
  double max_workers = 16;
  /// How many the hosts at hand can run. Larger counts are answered all the same, as what other
  /// hosts would give, but no run of them is asked for.
  std::optional<double> room;
  std::optional<double> deadline_s;
  std::optional<double> budget;
  std::map<std::string, double> price_per_hour;  ///< of one device, by device name
  std::optional<std::int64_t> epochs;
  std::optional<std::int64_t> examples;
  std::optional<StepsModel> steps;  ///< to the target; replaces epochs
  /// From this global batch on no run reached the target, and nothing tells when one would: such
  /// configurations are not offered.
  std::optional<double> failing_batch;
};

/// A run that would tell more.
struct NextRun {
  std::size_t at = 0;  ///< index into the question's measured series
  std::string series;
  double workers = 0;
  double changes_decision = 0;      ///< probability
  std::optional<Estimate> epoch_s;  ///< expected duration of one epoch
  Estimate time_s;                  ///< expected duration of the whole, see Advice::time_means
};

struct Advice {
  std::string time_means;             ///< "20 epochs", "to the target", "one epoch"; of all
  std::string cost_means;             ///< "cost" or "device-hours"
  std::vector<Candidate> candidates;  ///< fastest first
  std::size_t chosen = 0;
  std::optional<std::size_t> next_best;
  std::optional<std::size_t> best_measured;  ///< best by the same rule of the counts that were run
  bool feasible = true;                      ///< the choice keeps deadline and budget 9 times of 10
  std::vector<std::string> why;
  std::vector<std::string> would_change;
  /// That the next larger count of the same series takes longer; absent when there is none.
  std::optional<double> more_is_slower;
  double more_workers = 0;           ///< that count
  std::optional<NextRun> next;       ///< absent when nothing more is worth measuring
  std::vector<std::string> caveats;  ///< what the comparison leaves out, a sentence each
};

/// With a deadline: the cheapest that keeps it. With a budget only: the fastest within it. With
/// neither: the least product of time and cost, which accepts twice the workers as long as they are
/// at least 1.41 times as fast. Times and costs are compared by the expectation of their logarithm,
/// so a prediction that may turn out much worse counts as worse than its value. Throws kData when
/// there is nothing to choose from or a price is missing for a device while others have one.
Advice advise(const AdviceQuestion& question);

}  // namespace lockstep::predict
