#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "command_line/command.h"

namespace lockstep::cli {

using AddCommand = void (*)(CLI::App& app, const GlobalOptions& options);

/// Commands that the help lists under one heading.
struct CommandGroup {
  const char* title;
  std::vector<AddCommand> commands;
};

/// Parses the command line and runs the command it names. Every error, ours or the parser's, ends
/// as "error: ..." and "hint: ..." on stderr and as the exit code of its kind.
int run_command_line(int argc, char** argv, const std::vector<CommandGroup>& groups);

/// Whether the words after "--" are a command that the command `name` runs.
bool takes_command(std::string_view name);

/// The candidate that `word` was most likely meant to be; empty when none is near (an edit distance
/// of at most a third of its length, swapped neighbours counting as one edit).
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace lockstep::cli
