#pragma once

#include <string>

namespace lockstep::comm {

/// What NCCL and c10d read from the environment, before either is used: the network of the run,
/// unless the user chose one, and that c10d leaves failures to the run. `address` is this rank's.
void set_nccl_environment(const std::string& address);

/// What c10d reports of an error of NCCL, in one line: its first names the call, and what follows
/// "Last error:" the cause. The rest explains kinds of errors, or is a stack trace.
std::string cause_of_nccl_error(const std::string& report);

}  // namespace lockstep::comm
