#pragma once

#include <vector>

#include "lockstep/watch/rank_record.h"

namespace lockstep::watch {

/// Processes that train at the same time without a process group (Hogwild, a launcher whose
/// variables are not known) all call themselves rank 0 of 1. They become ranks 0 to N - 1. Those
/// that trained one after the other, such as a parent and its child, are left as they are.
void number_processes(std::vector<RankRecord>& records);

}  // namespace lockstep::watch
