#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/simulate/failures.h"
#include "lockstep/simulate/simulation.h"
#include "lockstep/simulate/step_source.h"

namespace lockstep::simulate {

/// A job on workers that fail, as a user writes it. Text is empty where nothing was said.
struct FailureSettings {
  std::string mttf;  ///< of one worker; empty = no failures
  std::string checkpoint;
  std::string restart;
  std::string repair;
  std::string interval;
  std::string work;  ///< time of the job without failures; empty = from the epochs
  double epochs = 0;
  double examples = 0;
  std::int64_t min_workers = 0;
  double price = 0;  ///< of one worker and hour
};

inline constexpr const char* kUsualCheckpoint = "60s";
inline constexpr const char* kUsualRestart = "5min";

/// The job on one count of workers.
struct JobForecast {
  std::int64_t workers = 1;
  FailingJob job;
  std::optional<double> best_interval_s{};  ///< simulated optimum; none where no interval helps
  JobOutcome waits;                         ///< all workers are needed
  std::optional<JobOutcome> goes_on{};      ///< with fewer, down to the least that is asked for
  double price_per_host_hour = 0;           ///< 0 = not given
};

/// One forecast per simulated count; none without a mean time to a failure. Throws kUsage where the
/// length of the job is not known and for settings that would have no effect.
std::vector<JobForecast> forecast_jobs(const SimulatedScaling& scaling, const StepSource& source,
                                       const FailureSettings& settings,
                                       const NetworkEngine& engine);

}  // namespace lockstep::simulate
