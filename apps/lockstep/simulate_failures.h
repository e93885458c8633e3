#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/report/failure_tables.h"
#include "lockstep/simulate/settings.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

/// A job on workers that fail, as given on the command line.
struct FailureOptions {
  std::string mttf;  ///< of one worker; empty = no failures
  std::string checkpoint = "60s";
  std::string restart = "5min";
  std::string repair;
  std::string interval;
  std::string work;  ///< time of the job without failures; empty = from the epochs
  double epochs = 0;
  double examples = 0;
  std::int64_t min_workers = 0;
  double price = 0;  ///< of one worker and hour
};

void add_failure_options(CLI::App& command, FailureOptions& options);

/// One row per simulated count. Throws kUsage where the length of the job is not known.
std::vector<report::FailureRow> simulate_failures(const simulate::SimulatedScaling& scaling,
                                                  const simulate::StepSource& source,
                                                  const FailureOptions& options,
                                                  const simulate::NetworkEngine& engine);

}  // namespace lockstep::cli
