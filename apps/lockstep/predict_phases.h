#pragma once

#include <cstdint>
#include <string>

#include "command.h"

namespace lockstep::cli {

struct PhasesQuestion {
  std::int64_t run = 0;  ///< a stored run of one worker
  /// CSV with columns bytes, seconds, workers; empty = `link`, else the store's calibration
  std::string collectives;
  std::string link;  ///< "30us,4GB/s" in place of a calibration
  std::int64_t workers = 2;
  std::int64_t nodes = 1;  ///< hosts that the workers are spread over evenly
  /// Slowdown of compute when all workers compute at once; 0 = by the store's device calibrations,
  /// else none.
  double contention = 0;
};

/// Predicts step and epoch time on N workers from the phases of a one-worker run in the store and a
/// calibration of the link; prints what the step consists of. Throws kUsage, kData.
void predict_from_phases(const GlobalOptions& global, const PhasesQuestion& question);

}  // namespace lockstep::cli
