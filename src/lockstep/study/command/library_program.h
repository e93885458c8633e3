#pragma once

#include <string>

namespace lockstep::study {

/// Whether the program, a path or a name in PATH, links the library of lockstep: then it starts its
/// ranks itself (LOCKSTEP_WORKERS), and a command needs no {workers}.
bool uses_library(const std::string& program);

}  // namespace lockstep::study
