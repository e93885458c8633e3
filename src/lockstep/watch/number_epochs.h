#pragma once

#include <span>
#include <vector>

#include "lockstep/record/event.h"
#include "lockstep/watch/rank_record.h"

namespace lockstep::watch {

/// Steps of a script that reads no DataLoader have epoch 0. Where the output of the script has
/// several epochs in order (`printed`), and their number divides that of the steps, each gets the
/// same number of steps, unless a printed time is shorter than that of its steps. Returns false
/// where epochs stay unknown; all is then counted as epoch 1.
bool number_epochs(std::vector<RankRecord>& ranks, std::span<const record::EpochResult> printed);

}  // namespace lockstep::watch
