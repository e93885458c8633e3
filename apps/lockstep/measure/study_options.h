#pragma once

#include "lockstep/study/request.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

/// Adds the options of a study to `command`, those of a training run among them.
void add_study_options(CLI::App& command, study::StudyRequest& request);

}  // namespace lockstep::cli
