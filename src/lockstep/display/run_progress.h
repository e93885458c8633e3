#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lockstep/base/clock.h"
#include "lockstep/base/units.h"
#include "lockstep/predict/duration/run_forecast.h"
#include "lockstep/record/event.h"

namespace lockstep::display {

/// How far a run is, and how long it will still take.
class RunProgress {
 public:
  RunProgress(const record::RunStarted& started, const Clock& clock);

  void update(const record::Progress& progress);
  void finish_epoch(const record::EpochResult& epoch) { forecast_.finish_epoch(epoch); }

  /// Of the whole run, in [0, 1].
  double fraction() const;
  /// Time left as forecast, validation included; in the first steps at the mean pace so far;
  /// unknown until there is a pace.
  std::optional<Seconds> remaining() const;
  const predict::RunForecast& forecast() const { return forecast_; }

  /// "epoch 2/5 [===>      ] 120/235  ETA 12.1 s  14,213 examples/s  loss 0.4123  total 31.0 s
  /// (30.1 s to 32.4 s)"; the total with its 90 % interval once there is one, last because a narrow
  /// terminal cuts it off. The steps are those of the epoch, or as many of them as are to be run.
  std::string bar() const;
  /// The same for a log: without the bar.
  std::string line() const;

 private:
  std::int64_t steps_done() const;
  std::int64_t steps_of_epoch() const;
  std::string outlook() const;

  const Clock& clock_;
  predict::RunForecast forecast_;
  int epochs_;
  std::int64_t steps_in_all_;
  record::Progress now_;
  /// Where the pace is measured from: the first progress event, in mid-run where a run was resumed.
  std::optional<std::int64_t> first_done_;
  Nanoseconds first_at_ = 0;
  Nanoseconds updated_at_ = 0;
};

}  // namespace lockstep::display
