#include "lockstep/study/duration.h"

#include <algorithm>
#include <cmath>

namespace lockstep::study {
namespace {

double distance(const Cell& cell, const store::RunSummary& run) {
  const auto apart = [](double a, double b) { return std::abs(std::log(a / b)); };
  // The worker count changes the time per example more than the batch does.
  return 2 * apart(cell.workers, run.spec.workers) +
         apart(static_cast<double>(cell.batch_per_worker),
               static_cast<double>(run.spec.batch_per_worker)) +
         (cell.strategy == run.spec.strategy ? 0 : 0.1);
}

bool tells(const store::RunSummary& run) {
  return run.state == store::RunState::kDone && run.examples > 0 && run.total_s > 0 &&
         run.spec.workers > 0 && run.spec.batch_per_worker > 0;
}

}  // namespace

std::optional<Seconds> estimate_run(const Cell& cell, const RunLength& length,
                                    std::span<const store::RunSummary> runs) {
  const store::RunSummary* nearest = nullptr;
  for (const store::RunSummary& run : runs) {
    // Of equals the newest.
    if (tells(run) && (!nearest || distance(cell, run) <= distance(cell, *nearest))) nearest = &run;
  }
  if (!nearest) return std::nullopt;
  double examples = static_cast<double>(nearest->spec.data.train_examples) * length.epochs;
  if (length.max_steps > 0) {
    const double limit =
        static_cast<double>(length.max_steps) * static_cast<double>(cell.global_batch());
    examples = examples > 0 ? std::min(examples, limit) : limit;
  }
  if (examples <= 0) return std::nullopt;
  return Seconds(nearest->total_s / static_cast<double>(nearest->examples) * examples);
}

}  // namespace lockstep::study
