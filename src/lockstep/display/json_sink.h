#pragma once

#include <optional>

#include "lockstep/base/terminal/console.h"
#include "lockstep/predict/duration/run_forecast.h"
#include "lockstep/record/run_sink.h"

namespace lockstep::display {

/// Prints each event as it came, one JSON object per line, and two more kinds: `forecast`
/// after each progress from which the total can be predicted, `forecast_verdict` before the end of
/// a finished run. Both carry "v" and "type" as every event does; readers of runs ignore them.
class JsonSink final : public record::RunSink {
 public:
  JsonSink(Console& console, const Clock& clock) : console_(console), clock_(clock) {}
  void write(const record::Event& event) override;

 private:
  void show_forecast();
  void show_verdict(double total_s);

  Console& console_;
  const Clock& clock_;
  std::optional<predict::RunForecast> forecast_;
};

}  // namespace lockstep::display
