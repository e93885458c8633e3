#pragma once

#include <sys/types.h>

namespace lockstep::launch {

/// Stands between this program and somebody's, in a process of its own that was just forked from
/// `guardian`: descendants of `program` that lose their parent come to it, whatever session they
/// moved to. When the guardian dies, kill -9 included, all of them are killed; when `program` ends,
/// it ends in the same way. Allocates nothing, as is due between fork and exec.
[[noreturn]] void keep(pid_t guardian, pid_t program);

/// What must be set before the program is forked, so that no moment is missed: its descendants come
/// to this process, and the death of the guardian is heard of. False when the guardian is gone.
bool prepare_to_keep(pid_t guardian);

}  // namespace lockstep::launch
