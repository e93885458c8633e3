#pragma once

#include <string>
#include <vector>

#include "lockstep/launch/cluster/launchers.h"
#include "lockstep/record/train_request.h"
#include "lockstep/study/plan/sweep.h"

namespace lockstep::study {

/// What `lockstep study` is asked for, as it was written.
struct StudyRequest {
  std::string what;     ///< a recipe, several with commas, or a plan file; empty = the default
  std::string workers;  ///< lists with commas; empty = the default
  std::string batch;    ///< or a ladder: "32..x4"
  std::string global_batch;
  std::string strategy;
  std::string threads;  ///< per worker, with commas; empty = an equal share of the cores
  int repeat = 1;
  std::uint64_t order_seed = 1;
  std::string name;
  bool dry_run = false;
  bool retry_failed = false;
  std::string devices;               ///< with commas; empty = the trainer's own
  std::vector<std::string> command;  ///< what followed "--"; empty = lockstep's own trainer
  std::string network;               ///< what the command trains; empty = named after its script
  std::string pattern;               ///< how to read what the command writes
  bool show_output = false;
  bool wall_time = false;
  bool watch = true;           ///< measure PyTorch processes of a command from inside
  double time_limit_s = 0;     ///< of each run of a command; 0 = none
  record::TrainRequest train;  ///< what all runs have in common
  launch::LauncherOptions launcher;

  StudyRequest();

  bool is_foreign() const { return !command.empty(); }
  bool is_ladder() const { return study::is_ladder(batch); }
};

/// One request for each recipe, device and number of threads that the lists of `request` name. Of
/// several numbers of threads, worker counts that the cores of this machine cannot serve are left
/// out of theirs.
std::vector<StudyRequest> split_request(const StudyRequest& request);

/// Fills in what was left open (worker counts, epochs, threads) and refuses what makes no sense:
/// throws kUsage.
void complete_study_request(StudyRequest& request);

/// What all workers of a run may use together: --memory, or for a ladder on this machine without it
/// what the machine has free now; 0 = no limit.
std::uint64_t memory_budget(const StudyRequest& request);

/// The grid of a completed request.
Sweep sweep_of(const StudyRequest& request);

/// The name of a study whose user gave none: what is trained, and a digest of what all its runs
/// have in common, so that a larger grid of the same is the same study.
std::string default_study_name(const StudyRequest& request);

}  // namespace lockstep::study
