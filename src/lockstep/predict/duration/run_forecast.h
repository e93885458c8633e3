#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "lockstep/base/clock.h"
#include "lockstep/predict/duration/early_total.h"
#include "lockstep/record/event.h"

namespace lockstep::predict {

/// Predicts how long a run will take in all, validation included, from what it has done so far:
/// from its first dozen steps on. Early predictions are kept, to be compared with the end.
class RunForecast {
 public:
  /// What was predicted when a part of the steps was done.
  struct Mark {
    double part = 0;                    ///< of the steps: 0.01, 0.05, 0.2
    std::int64_t step = 0;              ///< of the run, when it was predicted
    std::optional<Estimate> predicted;  ///< seconds; absent when there were too few steps
  };

  RunForecast(const record::RunStarted& started, const Clock& clock);

  void update(const record::Progress& progress);
  void finish_epoch(const record::EpochResult& epoch);

  /// Seconds from the start of the run to its end, with a 90 % interval; nothing before the first
  /// dozen steps.
  std::optional<Estimate> total() const;
  /// The part of total() that is still to come.
  std::optional<Estimate> remaining() const;
  /// Steps at the beginning that were slower than the steady state.
  std::int64_t warm_up_steps() const;
  /// What the warm-up cost beyond as many steady steps, in seconds.
  double warm_up_cost_s() const;

  std::int64_t steps_done() const { return steps_done_; }  ///< of the whole run
  std::int64_t steps_in_all() const { return steps_in_all_; }
  const std::array<Mark, 3>& marks() const { return marks_; }

 private:
  void add_steps(std::int64_t steps, double seconds);
  Estimate validations_to_come() const;
  void take_marks();

  const Clock& clock_;
  record::RunStarted started_;
  std::int64_t steps_in_all_ = 0;
  Nanoseconds began_ = 0;
  Nanoseconds updated_ = 0;
  std::optional<EarlyTotal> early_;  ///< once the first step of this process is known
  int epoch_ = 0;
  std::int64_t steps_done_ = 0;      ///< of the whole run
  std::int64_t epoch_step_ = 0;      ///< last step of the epoch that was added
  double epoch_seconds_ = 0;         ///< of the epoch's steps that were added
  std::vector<double> validations_;  ///< seconds
  std::array<Mark, 3> marks_;
  std::size_t next_mark_ = 0;
};

}  // namespace lockstep::predict
