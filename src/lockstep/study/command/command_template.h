#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/study/plan/sweep.h"

namespace lockstep::study {

/// The values of the placeholders of a command besides the configuration.
struct CommandValues {
  int epochs = 1;
  std::uint64_t seed = 1;
  std::string device;
  int threads = 0;  ///< per worker; 0 = the command decides
  int nodes = 0;    ///< 0 = unknown, as the rest
  int workers_per_node = 0;
  std::string master_address{};  ///< where rank 0 runs
  std::string master_port{};
};

/// What a command runs, in a word: the script of an interpreter or launcher ("train.py"), else the
/// program.
std::string command_title(const std::vector<std::string>& command);

/// Whether a word names a Python or a script for it; a program may start one without.
bool runs_python(const std::vector<std::string>& command);

/// The title without the suffix of a script ("train"): what runs of the command are called.
std::string script_name(const std::vector<std::string>& command);

/// Whether a word of a command line is a script or a program that starts one, so not a recipe.
bool names_a_program(const std::string& word);

/// Whether `{name}` is anywhere in the command.
bool has_placeholder(const std::vector<std::string>& command, const std::string& name);

/// The command of one run: {workers}, {batch}, {global_batch}, {epochs}, {seed} (that of the first
/// repeat plus repeat - 1), {device}, {threads}, {nodes}, {workers_per_node}, {master_addr} and
/// {master_port} replaced, all other text unchanged.
std::vector<std::string> expand_command(const std::vector<std::string>& command,
                                        const PlannedRun& planned, const CommandValues& values);

/// Throws kUsage when the sweep varies something that the command does not take (all its runs would
/// be the same), for {device} without a device, and for what looks like a misspelt placeholder.
/// `launcher_sets_workers`: a launcher starts the workers, so that the command need not take them.
void check_command(const std::vector<std::string>& command, const Sweep& sweep,
                   const CommandValues& values, bool launcher_sets_workers = false);

}  // namespace lockstep::study
