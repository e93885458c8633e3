#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/record/event.h"
#include "lockstep/watch/join_energy.h"
#include "lockstep/watch/rank_record.h"

namespace lockstep::watch {

/// A watched run: what its ranks wrote, as one.
struct WatchedRun {
  int workers = 0;
  std::vector<std::string> hosts;           ///< in the order of their lowest rank
  std::vector<record::StepTimes> steps;     ///< by step, then rank; only steps that all ranks have
  std::vector<record::EpochResult> epochs;  ///< times, examples and noise scale
  bool epochs_known = true;  ///< otherwise `epochs` has one entry, which stands for the whole run
  std::vector<record::Utilisation> utilisation;
  RunEnergy energy;
  std::int64_t peak_memory_bytes = 0;  ///< of the largest rank; 0 = no rank came to its end
  // What the script trains, as rank 0 saw it; 0 or empty = unknown.
  std::string torch;
  std::string framework;  ///< see RankRecord
  std::string backend;    ///< see RankRecord
  std::string device;
  int threads_per_worker = 0;
  std::int64_t parameters = 0;
  double flops_per_example = 0;
  std::string unit;                   ///< of the examples
  int loader_workers = -1;            ///< -1 = unknown
  std::int64_t batch_per_worker = 0;  ///< examples per step and rank, the most common number
  std::int64_t loader_batch = 0;      ///< examples per batch of the loader
  std::int64_t loader_examples = 0;   ///< per epoch and over all ranks, as the loader states it
  std::int64_t first_step_wall_ns = 0;
  std::vector<std::string> notes;  ///< what could not be measured, one sentence each
};

/// Joins the ranks of a run. Exposed communication is split into wait and transfer from the times
/// at which ranks entered each collective; where those are not known, a rank's wait is what it was
/// exposed beyond the rank that was exposed least. Clocks of several hosts are aligned where ranks
/// leave collectives. `printed` are the epochs in the output of a run that came to its end: see
/// number_epochs(). Nothing when no rank recorded a step; `notes` then has the reason.
WatchedRun merge_ranks(RunRecords records, std::span<const record::EpochResult> printed = {});

}  // namespace lockstep::watch
