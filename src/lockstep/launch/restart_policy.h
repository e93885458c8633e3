#pragma once

#include <string>
#include <vector>

#include "lockstep/launch/worker_group.h"
#include "lockstep/record/train_request.h"

namespace lockstep::launch {

/// What to do when workers are lost.
struct RestartPolicy {
  int restarts = 0;  ///< attempts after the first
  int min_workers =
      0;  ///< continue with the remaining workers, at least this many; 0 = with as many as before
};

/// Whether starting again can help: not when the user asked for the end, and not when the command,
/// the machine or the data is wrong. Where the run was started before (`attempt` > 0), a host that
/// refuses now is one that was lost.
bool can_restart(const GroupOutcome& outcome, int attempt);

/// Ranks that did not end regularly, nor because the launcher asked them to, nor
/// because they missed another; the one that is blamed in any case.
std::vector<int> lost_ranks(const GroupOutcome& outcome);

/// Hosts of the lost ranks, if the launcher assigned ranks to hosts.
std::vector<std::string> hosts_of_lost_ranks(const GroupOutcome& outcome);

/// Whether a launcher started nothing on some host.
bool was_refused(const GroupOutcome& outcome);

/// `request` for another number of workers, going on from the last checkpoint. The global batch B
/// stays where the workers divide it: b = B/N. Where they do not, b stays and the learning rate is
/// scaled with the workers, as the linear rule has it: lr N/N before. `learning_rate` is the one in
/// use; --lr-scale, if given, does that itself. Describes the change in `told`.
record::TrainRequest with_workers(const record::TrainRequest& request, int workers,
                                  double learning_rate, std::string& told);

}  // namespace lockstep::launch
