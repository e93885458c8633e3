#pragma once

#include <string>
#include <vector>

#include "lockstep/watch/watch_folder.h"

namespace lockstep::study {

/// What a command that lockstep starts on this machine gets in its environment besides what it
/// inherits, as "NAME=value". `watching` may be null: then nothing measures it from inside. A
/// program of the library starts as many ranks as `workers`, unless something else starts them; 0 =
/// unknown.
std::vector<std::string> command_environment(const watch::WatchFolder* watching, int workers,
                                             int threads);

/// The same for a batch job; it also needs the Python path of its watch folder.
std::vector<std::string> job_environment(const std::string& watch_folder, int threads);

}  // namespace lockstep::study
