#pragma once

#include <vector>

#include "study_request.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

/// The sweeps of the plan file that `given.what` names, each completed, all under one name. Beside
/// a plan file the command line may only say how to carry it out (--name, --dry-run,
/// --retry-failed, --show-output, --launcher): throws kUsage for other options of `command` that
/// were given, and for what the file asks in vain, with its line.
std::vector<StudyRequest> read_study_plan(const CLI::App& command, const StudyRequest& given);

}  // namespace lockstep::cli
