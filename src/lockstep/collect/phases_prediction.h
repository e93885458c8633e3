#pragma once

#include <cstdint>
#include <string>

#include "lockstep/predict/phases/run_phases.h"

namespace lockstep::collect {

/// A question to answer from the phases of a stored run.
struct PhasesQuestion {
  std::int64_t run = 0;
  /// CSV with columns bytes, seconds, workers; empty = `link`, else the store's calibration
  std::string collectives;
  std::string link;  ///< "30us,4GB/s" in place of a calibration
  predict::RunPhasesQuestion workers;
};

/// A link and where it was taken from.
struct KnownLink {
  predict::Link link;
  std::string origin;
  std::int64_t workers = 0;  ///< of the calibration; 0 = not known
  std::int64_t nodes = 0;
};

struct PhasesPrediction {
  PhasesQuestion question;
  record::RunSpec measured;  ///< what the run was
  KnownLink link;
  predict::RunPhasesPrediction predicted;
};

/// Predicts step and epoch time on N workers from the phases of a run of the store, of one worker
/// or of several, and a calibration of the link. Throws kData.
PhasesPrediction predict_from_phases(const std::string& store_path, const PhasesQuestion& question);

}  // namespace lockstep::collect
