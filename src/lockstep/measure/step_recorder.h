#pragma once

#include <cstdint>

#include "lockstep/base/clock.h"
#include "lockstep/record/step_times.h"

namespace lockstep::measure {

/// Times one step after the other on one rank. Every moment between begin() and end() belongs to
/// exactly one phase: end_phase() gives the time since the mark before to a phase, and what end()
/// finds unclaimed is kOther, so the phases always add up to the step. A mark costs one reading of
/// the clock. Not thread-safe.
class StepRecorder {
 public:
  StepRecorder(const Clock& clock, int rank) : clock_(clock) { step_.rank = rank; }

  void begin(int epoch, std::int64_t step) {
    step_ = {.rank = step_.rank, .epoch = epoch, .step = step};
    last_ = step_.start_ns = clock_.monotonic();
  }

  /// The time since the last mark was spent in `phase`. May be called several times for one phase.
  void end_phase(record::Phase phase) {
    const Nanoseconds now = clock_.monotonic();
    step_[phase] += seconds(now - last_);
    last_ = now;
  }

  /// This rank has handed over its last gradients: from here on, communication is exposed.
  void ready() { step_.ready_ns = last_; }

  record::StepTimes end(std::int64_t examples) {
    end_phase(record::Phase::kOther);
    step_.examples = examples;
    step_.total_s = seconds(last_ - step_.start_ns);
    return step_;
  }

 private:
  static double seconds(Nanoseconds time) { return static_cast<double>(time) * 1e-9; }

  const Clock& clock_;
  record::StepTimes step_;
  Nanoseconds last_ = 0;
};

}  // namespace lockstep::measure
