#include "restart_policy.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::cli {

bool can_restart(const launch::GroupOutcome& outcome) {
  if (!outcome.failure || outcome.stop_requested) return false;
  switch (outcome.failure->error.kind()) {
    case ErrorKind::kUsage:
    case ErrorKind::kEnvironment:
    case ErrorKind::kData:
    case ErrorKind::kInterrupted:
      return false;
    default:
      return true;
  }
}

int lost_workers(const launch::GroupOutcome& outcome) {
  int lost = 0;
  for (const launch::WorkerOutcome& worker : outcome.workers) {
    const bool complained = worker.error && kind_from_name(worker.error->kind) == ErrorKind::kPeer;
    lost += worker.status && !worker.status->clean() && !worker.told_to_end && !complained;
  }
  return std::max(1, lost);
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
    told = fmt::format("batch per worker {} instead of {}, so that B = {} stays",
                       next.spec.batch_per_worker, batch, all);
  } else if (request.spec.lr_scale != "none") {
    told = fmt::format("B = {} instead of {}; --lr-scale {} follows it", batch * workers, all,
                       request.spec.lr_scale);
  } else {
    next.spec.learning_rate = learning_rate * workers / before;
    told = fmt::format("B = {} instead of {}, learning rate {:.4g} instead of {:.4g} (linear rule)",
                       batch * workers, all, next.spec.learning_rate, learning_rate);
  }
  return next;
}

}  // namespace lockstep::cli
