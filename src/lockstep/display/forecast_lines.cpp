#include "lockstep/display/forecast_lines.h"

#include <fmt/format.h>

#include "lockstep/report/render/estimate_text.h"

namespace lockstep::display {

using predict::Estimate;
using predict::RunForecast;
using report::time_with_interval;

std::vector<std::string> forecast_lines(const RunForecast& forecast, double total_s) {
  std::vector<std::string> lines;
  if (!(total_s > 0)) return lines;
  for (const RunForecast::Mark& mark : forecast.marks()) {
    if (!mark.predicted) continue;
    const Estimate& p = *mark.predicted;
    lines.push_back(fmt::format(
        "total predicted at {:>2.0f} % of the steps (after step {}): {}, off by {:+.1f} %, {} its "
        "90 % interval",
        100 * mark.part, mark.step, time_with_interval(p), 100 * (p.value / total_s - 1),
        p.low <= total_s && total_s <= p.high ? "within" : "outside"));
  }
  return lines;
}

}  // namespace lockstep::display
