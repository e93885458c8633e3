#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "command.h"

namespace lockstep::cli {

using AddCommand = void (*)(CLI::App& app, const GlobalOptions& options);

/// Parses the command line and runs the command it names. Every error, ours or the parser's, ends
/// as "error: ..." and "hint: ..." on stderr and as the exit code of its kind.
int run_command_line(int argc, char** argv, const std::vector<AddCommand>& commands);

/// The candidate that `word` was most likely meant to be; empty when none is near (an edit distance
/// of at most a third of its length, swapped neighbours counting as one edit).
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace lockstep::cli
