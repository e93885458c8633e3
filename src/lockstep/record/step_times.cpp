#include "lockstep/record/step_times.h"

#include <algorithm>

namespace lockstep::record {

std::string_view phase_name(Phase phase) {
  constexpr std::array<std::string_view, kPhaseCount> kNames{
      "input_wait", "host_to_device", "forward",   "backward",
      "comm_wait",  "comm_transfer",  "optimizer", "other"};
  return kNames[static_cast<std::size_t>(phase)];
}

void split_exposed(std::span<StepTimes> ranks) {
  std::int64_t slowest = 0;
  for (const StepTimes& step : ranks) slowest = std::max(slowest, step.ready_ns);
  for (StepTimes& step : ranks) {
    const double exposed = step.exposed_s();
    const double behind = static_cast<double>(slowest - step.ready_ns) * 1e-9;
    step[Phase::kWait] = std::clamp(behind, 0.0, exposed);
    step[Phase::kTransfer] = exposed - step[Phase::kWait];
  }
}

}  // namespace lockstep::record
