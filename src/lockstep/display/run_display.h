#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lockstep/analyze/steps/step_breakdown.h"
#include "lockstep/base/clock.h"
#include "lockstep/base/terminal/console.h"
#include "lockstep/display/run_progress.h"
#include "lockstep/record/run_sink.h"

namespace lockstep::display {

/// Shows a run to a person: what is trained on what, a progress bar, one line per epoch, and at the
/// end where the time went.
class RunDisplay final : public record::RunSink {
 public:
  RunDisplay(Console& console, const Clock& clock) : console_(console), clock_(clock) {}

  void write(const record::Event& event) override;

 private:
  void on(const record::RunStarted& event);
  void on(const record::Progress& event);
  void on(const record::StepBlock& event);
  void on(const record::EpochResult& event);
  void on(const record::CheckpointWritten& event);
  void on(const record::UtilisationBlock& event);
  void on(const record::RunEnded& event);
  void on(const record::BucketChosen&) {}  // the trainer's message has the comparison
  void on(const record::WorkerError&) {}   // the launcher reports the one that matters

  /// If no bar shows it: once, as soon as there is one.
  void show_first_forecast();
  void show_forecast_verdict(double total_s);
  void show_times();
  void show_noise_scale();

  Console& console_;
  const Clock& clock_;
  std::optional<record::RunStarted> started_;
  std::optional<RunProgress> progress_;
  std::optional<analyze::StepBreakdownBuilder> breakdown_;
  std::vector<record::Utilisation> utilisation_;
  std::optional<record::EpochResult> last_epoch_;
  bool header_shown_ = false;
  bool forecast_shown_ = false;
  Nanoseconds line_at_ = 0;
};

/// What makes the timings of a run doubtful, one sentence each.
std::vector<std::string> timing_warnings(const record::RunStarted& started);

}  // namespace lockstep::display
