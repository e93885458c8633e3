#include "lockstep/advise/energy.h"

#include "lockstep/analyze/verdict/verdict_parts.h"

namespace lockstep::advise {
namespace {

/// Watts of all its hosts while it trained; of the whole run where epochs have no energy.
std::optional<double> mean_power(const analyze::Configuration& c) {
  for (const auto& [energy, time] :
       {std::pair{"epoch_energy", "epoch_time"}, {"energy", "total_time"}}) {
    const auto joules = c.value(energy);
    const auto seconds = c.value(time);
    if (joules && seconds && *seconds > 0) return *joules / *seconds;
  }
  return std::nullopt;
}

}  // namespace

void add_energy(const std::vector<predict::TableSeries>& series,
                std::span<const analyze::SpeedupGroup> groups, std::vector<Candidate>& candidates) {
  for (Candidate& one : candidates) {
    for (const analyze::SpeedupGroup& group : groups) {
      for (const analyze::SpeedupPoint& point : group.points) {
        const auto& workers = point.configuration.workers;
        if (!workers || static_cast<double>(*workers) != one.workers) continue;
        if (analyze::series_key(group, point) != series[one.series].key) continue;
        if (const auto watts = mean_power(point.configuration)) {
          one.energy_j = one.time_s.value * *watts;
        }
      }
    }
  }
}

}  // namespace lockstep::advise
