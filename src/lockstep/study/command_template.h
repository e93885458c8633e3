#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/study/sweep.h"

namespace lockstep::study {

/// What the placeholders of a command stand for besides the configuration.
struct CommandValues {
  int epochs = 1;
  std::uint64_t seed = 1;
  std::string device;
};

/// What a command runs, in a word: the script of an interpreter or launcher ("train.py"), else the
/// program.
std::string command_title(const std::vector<std::string>& command);

/// The title without the suffix of a script ("train"): what runs of the command are called.
std::string script_name(const std::vector<std::string>& command);

/// Whether `{name}` stands anywhere in the command.
bool has_placeholder(const std::vector<std::string>& command, const std::string& name);

/// The command of one run: {workers}, {batch}, {global_batch}, {epochs}, {seed} (that of the first
/// repeat plus repeat - 1) and {device} replaced, all other text as it stands.
std::vector<std::string> expand_command(const std::vector<std::string>& command,
                                        const PlannedRun& planned, const CommandValues& values);

/// Throws kUsage when the sweep varies something that the command does not take (all its runs would
/// be the same), for {device} without a device, and for what looks like a misspelt placeholder.
void check_command(const std::vector<std::string>& command, const Sweep& sweep,
                   const CommandValues& values);

}  // namespace lockstep::study
