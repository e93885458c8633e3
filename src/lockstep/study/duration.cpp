#include "lockstep/study/duration.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lockstep/base/statistics.h"

namespace lockstep::study {
namespace {

double distance(const Cell& cell, const store::RunSummary& run) {
  // A batch that is not known is 0.
  const auto apart = [](double a, double b) {
    return a > 0 && b > 0 ? std::abs(std::log(a / b)) : 0.0;
  };
  // The worker count changes the time per example more than the batch does.
  return 2 * apart(cell.workers, run.spec.workers) +
         apart(static_cast<double>(cell.batch_per_worker),
               static_cast<double>(run.spec.batch_per_worker)) +
         (cell.strategy == run.spec.strategy ? 0 : 0.1);
}

bool tells(const store::RunSummary& run) {
  return run.state == store::RunState::kDone && run.total_s > 0 && run.spec.workers > 0;
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
  const Seconds before = start_up(runs);
  // A foreign program does not report its examples, and does the same amount of work each time.
  if (nearest->examples <= 0) return before + Seconds(nearest->total_s);
  double examples = static_cast<double>(nearest->spec.data.train_examples) * length.epochs;
  if (length.max_steps > 0) {
    const double limit =
        static_cast<double>(length.max_steps) * static_cast<double>(cell.global_batch());
    examples = examples > 0 ? std::min(examples, limit) : limit;
  }
  if (examples <= 0) return std::nullopt;
  return before + Seconds(nearest->total_s / static_cast<double>(nearest->examples) * examples);
}

Seconds start_up(std::span<const store::RunSummary> runs) {
  /// Longer than this the study was not going on.
  constexpr double kLongest = 60;
  std::vector<double> gaps;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const store::RunSummary& before = runs[i - 1];
    if (!tells(before) || before.label.study.empty() || before.label.study != runs[i].label.study) {
      continue;
    }
    const double apart =
        static_cast<double>(runs[i].started_wall_ns - before.started_wall_ns) * 1e-9;
    const double gap = apart - before.total_s;
    if (gap >= 0 && gap < kLongest) gaps.push_back(gap);
  }
  return Seconds(gaps.empty() ? 0 : median(gaps));
}

}  // namespace lockstep::study
