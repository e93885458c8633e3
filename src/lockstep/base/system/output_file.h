#pragma once

#include <functional>
#include <ostream>
#include <string>

namespace lockstep {

/// Writes a result to `path`, or to stdout when it is empty. A file appears whole or not at all: it
/// is written beside its place and then renamed. Links are followed; devices and pipes are written
/// to as they are. Throws kData when it cannot be written.
void write_result(const std::string& path, const std::function<void(std::ostream&)>& write);

}  // namespace lockstep
