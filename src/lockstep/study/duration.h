#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "lockstep/base/units.h"
#include "lockstep/store/store.h"
#include "lockstep/study/plan/sweep.h"

namespace lockstep::study {

/// How much each run of a study does.
struct RunLength {
  int epochs = 1;
  std::int64_t max_steps = 0;  ///< 0 = whole epochs
};

/// How long one run of `cell` will take, from the finished run nearest to it in worker count and
/// batch: its time per example, times the examples to be trained on, or its whole time where it did
/// not report its examples; and what comes before its first step (start_up). Nothing when no
/// finished run of `runs` shows it.
std::optional<Seconds> estimate_run(const Cell& cell, const RunLength& length,
                                    std::span<const store::RunSummary> runs);

/// What passes between the end of one run and the first step of the next, where workers start and
/// data is read: the median over runs of a study that followed each other. Zero when none did.
Seconds start_up(std::span<const store::RunSummary> runs);

}  // namespace lockstep::study
