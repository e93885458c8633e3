#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lockstep/launch/core_plan.h"

namespace lockstep::launch {

/// How many threads ran or could run when /proc/stat was read, the reading one included; 0 where
/// it does not contain the number.
int running_processes(std::string_view stat);

/// How the threads of a worker wait for each other, as "NAME=value" for its environment. OpenMP
/// threads spin at first, which is fastest on cores of their own; on cores that other programs use,
/// the thread that spins takes the time of the one that it waits for. Where `plan` is
/// oversubscribed or its cores are nearly all busy now, they therefore spin only briefly. Empty
/// where they are not, for workers of one thread, and where the user set GOMP_SPINCOUNT or
/// OMP_WAIT_POLICY. Observes the cores for 0.2 s if enough processes ran to keep them busy at one
/// of a few moments before.
std::vector<std::string> thread_wait_environment(const CorePlan& plan);

}  // namespace lockstep::launch
