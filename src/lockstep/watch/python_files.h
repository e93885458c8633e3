#pragma once

#include <span>

#include "lockstep/base/system/embedded_file.h"

namespace lockstep::watch {

/// The files of the Python watcher, by their path below the folder on PYTHONPATH.
std::span<const EmbeddedFile> python_files();

}  // namespace lockstep::watch
