#pragma once

#include <optional>
#include <vector>

#include "lockstep/advise/choice.h"

namespace lockstep::advise {

/// A run that would add most to what the choice is based on.
struct NextRun {
  std::size_t series = 0;  ///< index into the series of the job
  double workers = 0;
  double changes_choice = 0;                 ///< probability
  std::optional<predict::Estimate> epoch_s;  ///< expected duration of one epoch
  predict::Estimate time_s;                  ///< expected duration of the whole
};

/// Among counts that were not run and that the hosts have room for, of series that
/// are not known to learn less than the choice. Of runs that are about equally
/// likely to change the choice the one on fewest workers; nothing if none is likely to.
std::optional<NextRun> next_run(const std::vector<Candidate>& candidates,
                                const std::vector<PayingCount>& paying, const Choice& choice,
                                const LearnedQuality& quality, const Terms& terms);

}  // namespace lockstep::advise
