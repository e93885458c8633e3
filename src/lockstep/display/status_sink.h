#pragma once

#include <optional>
#include <string>

#include "lockstep/base/clock.h"
#include "lockstep/base/terminal/console.h"
#include "lockstep/display/run_progress.h"
#include "lockstep/record/run_sink.h"

namespace lockstep::display {

/// Shows the progress of one run on the status line.
class StatusSink final : public record::RunSink {
 public:
  /// The references outlive this object.
  StatusSink(std::string prefix, Console& console, const Clock& clock)
      : prefix_(std::move(prefix)), console_(console), clock_(clock) {}

  void write(const record::Event& event) override;

 private:
  std::string prefix_;
  Console& console_;
  const Clock& clock_;
  std::optional<RunProgress> progress_;
};

}  // namespace lockstep::display
