#pragma once

#include <cstdint>
#include <string>

#include "lockstep/record/run_spec.h"

namespace lockstep::record {

/// What a user asks of one training run: the RunSpec, and settings that do not change the result.
/// The same on every rank.
struct TrainRequest {
  RunSpec spec;
  bool workers_auto = false;  ///< workers and threads are to be chosen by measuring

  std::string checkpoint_dir;  ///< empty = none are written
  bool resume = false;         ///< continue from the newest whole checkpoint in checkpoint_dir
  /// Optimizer steps between checkpoints, besides the one after each epoch; 0 = only those.
  std::int64_t checkpoint_every = 0;

  std::string trace_path;    ///< Chrome/Perfetto trace of all ranks; empty = none
  bool keep_going = false;   ///< continue after a loss that is not finite
  bool validate = true;      ///< evaluate on the validation set after each epoch
  bool check_ranks = false;  ///< compare parameter checksums of all ranks after every step
  bool record_steps = true;  ///< keep a StepTimes for every step
  PhaseTiming phases = PhaseTiming::kFull;
  double timeout_s = 60;    ///< longest wait for another rank
  double heartbeat_s = 10;  ///< a rank without one for that long has hung
  std::string interface;    ///< network for gradients: a name or an address; empty = chosen
  /// Limit of all workers of one host together; each is limited to its share. 0 = no limit.
  std::uint64_t memory_bytes = 0;
  int loader_threads = 1;  ///< prefetch threads per worker; 0 = load on the training thread
};

}  // namespace lockstep::record
