#include "lockstep/launch/restart_policy.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::launch {

bool was_refused(const GroupOutcome& outcome) {
  return std::any_of(outcome.workers.begin(), outcome.workers.end(),
                     [](const auto& worker) { return worker.refusal.has_value(); });
}

bool can_restart(const GroupOutcome& outcome, int attempt) {
  if (!outcome.failure || outcome.stop_requested) return false;
  switch (outcome.failure->error.kind()) {
    case ErrorKind::kEnvironment:
      return attempt > 0 && was_refused(outcome);
    case ErrorKind::kUsage:
    case ErrorKind::kData:
    case ErrorKind::kInterrupted:
      return false;
    default:
      return true;
  }
}

std::vector<int> lost_ranks(const GroupOutcome& outcome) {
  std::vector<int> lost;
  for (std::size_t rank = 0; rank < outcome.workers.size(); ++rank) {
    const WorkerOutcome& worker = outcome.workers[rank];
    const bool complained = worker.error && kind_from_name(worker.error->kind) == ErrorKind::kPeer;
    if (worker.refusal ||
        (worker.status && !worker.status->clean() && !worker.told_to_end && !complained)) {
      lost.push_back(static_cast<int>(rank));
    }
  }
  if (lost.empty() && outcome.failure) lost.push_back(outcome.failure->rank);
  return lost;
}

std::vector<std::string> hosts_of_lost_ranks(const GroupOutcome& outcome) {
  std::vector<std::string> hosts;
  for (const int rank : lost_ranks(outcome)) {
    const auto place = static_cast<std::size_t>(rank);
    if (place >= outcome.workers.size() || outcome.workers[place].host.empty()) continue;
    hosts.push_back(outcome.workers[place].host);
  }
  return hosts;
}

record::TrainRequest with_workers(const record::TrainRequest& request, int workers,
                                  double learning_rate, std::string& told) {
  record::TrainRequest next = request;
  next.resume = true;
  const int before = request.spec.workers;
  const std::int64_t batch = request.spec.batch_per_worker;
  told.clear();
  if (workers == before) return next;
  next.spec.workers = workers;
  const std::int64_t all = batch * before;
  if (all % workers == 0) {
    next.spec.batch_per_worker = all / workers;
    told = fmt::format("batch per worker {} instead of {}, to keep B = {}",
                       next.spec.batch_per_worker, batch, all);
  } else if (request.spec.lr_scale != record::RateScaling::kNone) {
    told = fmt::format("B = {} instead of {}; --lr-scale {} adapts the learning rate",
                       batch * workers, all, record::name_of(request.spec.lr_scale));
  } else {
    next.spec.learning_rate = learning_rate * workers / before;
    told = fmt::format("B = {} instead of {}, learning rate {:.4g} instead of {:.4g} (linear rule)",
                       batch * workers, all, next.spec.learning_rate, learning_rate);
  }
  return next;
}

}  // namespace lockstep::launch
