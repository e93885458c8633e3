#pragma once

#include <vector>

#include "lockstep/study/request.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

/// The sweeps of the plan file that `given.what` names, each completed, all under one name. Beside
/// a plan file the command line may only set how to carry it out (--name, --dry-run,
/// --retry-failed, --show-output, --launcher): throws kUsage for other options of `command` that
/// were given, and for what the file asks in vain, with its line.
std::vector<study::StudyRequest> read_study_plan(const CLI::App& command,
                                                 const study::StudyRequest& given);

}  // namespace lockstep::cli
