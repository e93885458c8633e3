#pragma once

#include <optional>

#include "lockstep/base/console.h"
#include "lockstep/record/run_sink.h"
#include "run_forecast.h"

namespace lockstep::cli {

/// Prints each event as it came, one JSON object a line, and two kinds of its own: `forecast` after
/// each progress from which the total can be predicted, `forecast_verdict` before the end of a
/// finished run. Both carry "v" and "type" as every event does; readers of runs pass over them.
class JsonSink final : public record::RunSink {
 public:
  JsonSink(Console& console, const Clock& clock) : console_(console), clock_(clock) {}
  void write(const record::Event& event) override;

 private:
  void show_forecast();
  void show_verdict(double total_s);

  Console& console_;
  const Clock& clock_;
  std::optional<RunForecast> forecast_;
};

}  // namespace lockstep::cli
