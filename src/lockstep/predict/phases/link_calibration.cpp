#include "lockstep/predict/phases/link_calibration.h"

#include <algorithm>

#include "lockstep/analyze/communication.h"
#include "lockstep/base/error.h"

namespace lockstep::predict {
namespace {

using Fit = Link (*)(const std::vector<CollectiveTime>&, double);

Link fitted_or_stored(const record::LinkCalibration& calibration, double message_bytes, Fit fit) {
  const Link stored{calibration.alpha_s, calibration.bytes_per_s, calibration.spread};
  if (!(message_bytes > 0)) return stored;
  std::vector<CollectiveTime> times;
  for (const record::CollectivePoint& point : calibration.points) {
    times.push_back({static_cast<double>(point.bytes), point.seconds, calibration.workers});
  }
  try {
    return fit(times, message_bytes);
  } catch (const Error&) {
    return stored;
  }
}

}  // namespace

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
  const Link fitted = fit_link(times);  // of all sizes: what a list of links shows
  link.alpha_s = fitted.alpha_s;
  link.bytes_per_s = fitted.bytes_per_s;
  link.spread = fitted.spread;
  return link;
}

Link link_for(const record::LinkCalibration& calibration, double message_bytes) {
  return fitted_or_stored(calibration, message_bytes, fit_link);
}

Link link_near(const record::LinkCalibration& calibration, double message_bytes) {
  return fitted_or_stored(calibration, message_bytes, fit_link_near);
}

}  // namespace lockstep::predict
