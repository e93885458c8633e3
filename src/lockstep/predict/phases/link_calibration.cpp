#include "lockstep/predict/phases/link_calibration.h"

#include <algorithm>

#include "lockstep/analyze/communication.h"
#include "lockstep/predict/phases/phase_model.h"

namespace lockstep::predict {

record::LinkCalibration fit_calibration(const record::CollectivesResult& result,
                                        record::Backend backend, int workers,
                                        const record::Machine& machine, std::int64_t wall_ns) {
  record::LinkCalibration link;
  link.machine = machine;
  link.backend = backend;
  link.workers = workers;
  link.nodes = result.nodes;
  if (result.nodes > 1) link.machine.host = result.host;
  link.measured_wall_ns = wall_ns;
  std::vector<CollectiveTime> times;
  for (const record::CollectivesRow& row : result.rows) {
    const auto bytes = static_cast<double>(row.point.bytes);
    link.points.push_back(row.point);
    times.push_back({bytes, row.point.seconds, workers});
    link.peak_bus_per_s =
        std::max(link.peak_bus_per_s, analyze::bus_bandwidth(bytes, row.point.seconds, workers));
  }
  const Link fitted = fit_link(times);
  link.alpha_s = fitted.alpha_s;
  link.bytes_per_s = fitted.bytes_per_s;
  link.spread = fitted.spread;
  return link;
}

}  // namespace lockstep::predict
