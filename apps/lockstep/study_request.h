#pragma once

#include <string>
#include <vector>

#include "launchers.h"
#include "lockstep/record/train_request.h"
#include "lockstep/study/sweep.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

/// What `lockstep study` is asked for, as it was written.
struct StudyRequest {
  std::string what;     ///< a recipe; empty = the default
  std::string workers;  ///< lists with commas; empty = the default
  std::string batch;
  std::string global_batch;
  std::string strategy;
  int repeat = 1;
  std::uint64_t order_seed = 1;
  std::string name;
  bool dry_run = false;
  bool retry_failed = false;
  record::TrainRequest train;  ///< what all runs have in common
  LauncherOptions launcher;

  StudyRequest();
};

/// Adds the options of a study to `command`, those of a training run among them.
void add_study_options(CLI::App& command, StudyRequest& request);

/// Fills in what was left open (worker counts, epochs, threads) and refuses what makes no sense:
/// throws kUsage.
void complete_study_request(StudyRequest& request);

/// The grid of a completed request.
study::Sweep sweep_of(const StudyRequest& request);

/// The name of a study whose user gave none: what is trained, and a digest of what all its runs
/// have in common, so that a larger grid of the same is the same study.
std::string default_study_name(const StudyRequest& request);

}  // namespace lockstep::cli
