#pragma once

#include "lockstep/launch/cluster/launchers.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

/// --launcher and what goes with it.
void add_launcher_options(CLI::App& command, launch::LauncherOptions& options);

}  // namespace lockstep::cli
