#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "lockstep/base/units.h"
#include "lockstep/record/step_times.h"

namespace lockstep::analyze {

/// Means over the steps of one rank. The phases add up to `step`.
struct RankBreakdown {
  int rank = 0;
  std::int64_t steps = 0;
  Seconds step{0};
  std::array<Seconds, record::kPhaseCount> phases{};

  Seconds operator[](record::Phase phase) const { return phases[static_cast<std::size_t>(phase)]; }
  /// Of this rank's own step; 0 when there was none.
  double share(record::Phase phase) const { return step.count() > 0 ? (*this)[phase] / step : 0; }
};

/// The rank that kept the others waiting longest.
struct SlowestRank {
  int rank = 0;
  double last_share = 0;  ///< of the steps: those in which its gradients were ready last
  /// Mean time per step, over all steps, that the other ranks waited because of it.
  Seconds cost{0};
  double cost_share = 0;  ///< of the mean step
};

/// Where the time of a run's steps went.
struct StepBreakdown {
  std::vector<RankBreakdown> ranks;    ///< by rank
  RankBreakdown mean;                  ///< over ranks; its `rank` is -1
  std::int64_t warmup_steps = 0;       ///< left out of all of the above
  std::optional<SlowestRank> slowest;  ///< with two ranks or more that exchanged gradients

  /// Whether the slowest rank is the last half as often again as by chance; otherwise ranks take
  /// turns.
  bool slowest_stands_out() const {
    return slowest && slowest->last_share * static_cast<double>(ranks.size()) >= 1.5;
  }
};

/// A run of no more steps than this is too short to spare its first ones.
inline constexpr std::int64_t kStepsWithoutWarmUp = 40;

/// Steps at the start of a run of so many that are left out of means: first touch of memory, lazy
/// set-up in libraries, cold caches.
constexpr std::int64_t warm_up_steps(std::int64_t steps) {
  constexpr std::int64_t kWarmUp = 10;
  return steps > kStepsWithoutWarmUp ? kWarmUp : 0;
}

/// Adds up step records as they come, in memory that does not grow with their number. The first
/// warm_up_steps() of the run are left out.
class StepBreakdownBuilder {
 public:
  /// As many as warm_up_steps() of a long run.
  static constexpr std::int64_t kWarmupSteps = warm_up_steps(std::int64_t{1} << 40);

  /// `workers` ranks send records; the slowest of a step is found once all of them did.
  explicit StepBreakdownBuilder(int workers) : workers_(workers) {}

  void add(const record::StepBlock& block);
  /// Of all that was added so far; without ranks when nothing was.
  StepBreakdown result() const;

 private:
  struct Sums {
    std::int64_t steps = 0;
    double total_s = 0;
    std::array<double, record::kPhaseCount> phase_s{};
    std::int64_t last = 0;       ///< steps in which this rank was the last to be ready
    double others_waited_s = 0;  ///< in those, mean over the other ranks
    void add(const Sums& other);
  };
  struct RankSums {
    std::int64_t first_step = 0;
    Sums warmup;
    Sums steady;
  };
  /// One step for which some ranks are still missing.
  struct OpenStep {
    int heard = 0;
    int last_rank = -1;
    std::int64_t last_ready_ns = 0;
    double waited_s = 0;  ///< by all ranks together
  };

  Sums& sums_for(RankSums& rank, std::int64_t step);
  void note_ready(const record::StepTimes& step);

  int workers_;
  std::map<int, RankSums> ranks_;
  std::map<std::int64_t, OpenStep> open_;
};

}  // namespace lockstep::analyze
