#pragma once

#include <string>

namespace lockstep::cli {

/// Version, commit and build of this program, and of the worker that it would start: a line each.
/// Starts the worker to ask it, and waits for at most a few seconds.
std::string version_text();

}  // namespace lockstep::cli
