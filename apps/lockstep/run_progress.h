#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lockstep/base/clock.h"
#include "lockstep/base/units.h"
#include "lockstep/record/event.h"

namespace lockstep::cli {

/// How far a run is, and how long it will still take.
class RunProgress {
 public:
  RunProgress(const record::RunStarted& started, const Clock& clock);

  void update(const record::Progress& progress);

  /// Of the whole run, in [0, 1].
  double fraction() const;
  /// Time left at the mean pace so far, validation included; unknown until there is a pace.
  std::optional<Seconds> remaining() const;

  /// "epoch 2/5 [=====>      ] 120/235  14,213 examples/s  loss 0.412  ETA 12.1 s".
  std::string bar() const;
  /// The same for a log: without the bar.
  std::string line() const;

 private:
  std::int64_t steps_done() const;
  std::string rate_and_loss() const;

  const Clock& clock_;
  int epochs_;
  std::int64_t steps_in_all_;
  record::Progress now_;
  /// Where the pace is measured from: the first news, which a resumed run sends in mid-run.
  std::optional<std::int64_t> first_done_;
  Nanoseconds first_at_ = 0;
  Nanoseconds updated_at_ = 0;
};

}  // namespace lockstep::cli
