#include "lockstep/collect/calibrated_links.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <vector>

#include "lockstep/base/units.h"
#include "lockstep/store/calibrations.h"
#include "lockstep/store/store.h"

namespace lockstep::collect {
namespace {

std::string described(const record::LinkCalibration& link) {
  return fmt::format("{} workers over {}: {:.2f} GB/s ({})", link.workers,
                     record::name_of(link.backend), link.peak_bus_per_s / 1e9,
                     format_local_time(link.measured_wall_ns));
}

}  // namespace

CalibratedLinks calibrated_links(const std::string& store_path, const std::string& study) {
  CalibratedLinks links;
  const store::Calibrations known = store::calibrations(store_path);
  store::Store store(store_path);
  store::RunFilter filter;
  if (!study.empty()) filter.study = study;
  filter.state = store::RunState::kDone;
  std::set<int> seen;
  std::vector<std::string> found;
  bool ours = false;
  for (const store::RunSummary& run : store.runs(filter)) {
    // The link that a program of the user's own used is unknown.
    if (run.spec.workers < 2 || !run.spec.command.empty()) continue;
    ours = true;
    if (!seen.insert(run.spec.workers).second) continue;
    const std::string host =
        store.load(run.id, store::Store::Steps::kNotCounted).started.machine.host;
    const auto* link =
        known.link(host, run.spec.backend, run.spec.workers, std::max(1, run.spec.nodes));
    if (link == nullptr) continue;
    links.speeds.by_workers[run.spec.workers] = link->peak_bus_per_s;
    found.push_back(described(*link));
  }
  if (!found.empty()) {
    links.note = fmt::format(
        "utilisation is relative to the largest bus bandwidth that lockstep bench collectives "
        "measured: {}",
        fmt::join(found, "; "));
  } else if (ours) {
    links.note =
        "the link is not calibrated; run lockstep bench collectives to see its utilisation";
  }
  return links;
}

}  // namespace lockstep::collect
