#pragma once

#include <sys/types.h>

namespace lockstep::launch {

/// The body of a process between this program (`launcher`) and a foreign `program`: descendants of
/// the program that lose their parent become its children, in any session. When the
/// launcher dies, kill -9 included, all of them are killed; when the program ends, this process
/// ends in the same way. Allocates nothing, as required between fork and exec.
[[noreturn]] void run_reaper(pid_t launcher, pid_t program);

/// To be called before the program is forked, so that no event is missed: makes this process the
/// subreaper of its descendants and lets the death of the launcher signal it. False when the
/// launcher has exited.
bool prepare_reaper(pid_t launcher);

}  // namespace lockstep::launch
