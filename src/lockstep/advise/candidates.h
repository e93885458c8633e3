#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/predict/duration/time_to_accuracy.h"
#include "lockstep/predict/job_prediction.h"

namespace lockstep::advise {

/// What is to be least, where the user names it.
enum class Objective { kBalanced, kTime, kCost, kEnergy };

/// "time", "cost", "energy"; throws kUsage for other text.
Objective objective_from_name(const std::string& name);

/// The rate of a series at a count beyond its measured ones, in the unit of the series, as a
/// simulation has it; nothing where it cannot tell.
using SimulatedRate =
    std::function<std::optional<predict::Estimate>(const predict::TableSeries&, double workers)>;

/// What the user asks for. Without deadline, budget and target the rule of choice.h decides alone.
struct Terms {
  /// Largest count to consider; 0: twice the largest measured one, at least 4, with a
  /// simulation 64.
  double max_workers = 0;
  std::optional<double> deadline_s{};
  std::optional<double> budget{};                  ///< in the unit of the cost
  std::map<std::string, double> price_per_hour{};  ///< of one device, by device name
  std::optional<std::int64_t> epochs{};
  std::optional<std::int64_t> examples{};
  std::optional<predict::StepsModel> steps{};  ///< to the target; replaces epochs
  Objective objective = Objective::kBalanced;
  std::optional<double> carbon_g_per_kwh{};  ///< of the electricity
  /// From this global batch on no run reached the target: such configurations are not offered.
  std::optional<double> failing_batch{};
  SimulatedRate simulated{};  ///< replaces predictions beyond the measured counts where it can

  bool limited() const { return deadline_s || budget; }
};

/// Where the time of a candidate comes from.
enum class Origin {
  kMeasured,  ///< of a run of as many epochs and workers
  kDerived,   ///< the measured epoch of a run on as many workers, times the epochs asked for
  kPredicted,
  kSimulated,  ///< the measured step, replayed on as many workers
};

/// "measured", "derived", "predicted", "simulated".
std::string_view origin_name(Origin origin);

/// Of one device per hour; 1 without prices. "t4" is the price of "NVIDIA T4" too. Throws kUsage
/// for a device without a price while others have one.
double price_of(const Terms& terms, const std::string& device);

/// One way to run the job: a measured series at a worker count.
struct Candidate {
  std::size_t series = 0;  ///< index into the series of the job
  double workers = 0;
  predict::JobPrediction job;
  predict::Estimate time_s;
  predict::Estimate cost;            ///< in the currency of the prices; device-hours without prices
  std::optional<double> energy_j{};  ///< of all its hosts; measured counts only
  double meets_deadline = 1;         ///< probability
  double meets_budget = 1;           ///< probability
  bool pareto = false;               ///< none is both faster and cheaper
  Origin origin = Origin::kPredicted;
  bool fits = true;  ///< the hosts at hand have room for as many workers

  bool measured() const { return origin == Origin::kMeasured; }
  /// The count was run with these settings, though the time may be predicted (of a target).
  bool was_run() const { return job.scaling.measured; }
  /// Deadline and budget are kept 9 times of 10.
  bool feasible() const;
};

struct Candidates {
  std::string time_means;      ///< "20 epochs", "to the target", "one epoch"; of all
  std::string cost_means;      ///< "cost" or "device-hours"
  std::vector<Candidate> all;  ///< fastest first
};

/// The measured counts of each series, and powers of two times its smallest one, up to the limit.
/// Throws kData when no time of a whole job is known, kUsage when a price is missing for a device
/// while others have one, or when all that was measured is larger than what may be used.
Candidates make_candidates(const std::vector<predict::TableSeries>& series, const Terms& terms,
                           std::optional<double> room);

}  // namespace lockstep::advise
