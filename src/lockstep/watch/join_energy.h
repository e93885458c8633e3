#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "lockstep/record/event.h"
#include "lockstep/record/step_times.h"
#include "lockstep/watch/rank_record.h"

namespace lockstep::watch {

/// What the hosts of a run used, by the counters that its ranks read; see measure::EnergyMeter.
struct RunEnergy {
  double total_j = record::kUnknown;  ///< processors from the import of PyTorch on, GPUs from the
                                      ///< first step on, to the end of each rank
  std::map<int, double> epochs_j;     ///< from the first to the last step of each epoch
  std::string source;                 ///< what was read; where `total_j` is unknown, why
};

/// Sums over hosts, and over the GPUs of ranks where they train on GPUs. A part of the hosts or of
/// the GPUs never passes for all of them: then nothing is known. The clocks of `ranks` are aligned.
RunEnergy join_energy(const std::vector<RankRecord>& ranks,
                      std::span<const record::StepTimes> steps);

}  // namespace lockstep::watch
