#pragma once

#include <cstdint>
#include <string>

#include "command.h"

namespace lockstep::cli {

struct PhasesQuestion {
  std::int64_t run = 0;     ///< a stored run of one worker
  std::string collectives;  ///< CSV with columns bytes, seconds, workers
  std::int64_t workers = 2;
  double contention = 1;  ///< slowdown of compute when all workers compute at once
};

/// Predicts step and epoch time on N workers from the phases of a one-worker run in the store and a
/// calibration of the link; prints what the step consists of. Throws kUsage, kData.
void predict_from_phases(const GlobalOptions& global, const PhasesQuestion& question);

}  // namespace lockstep::cli
