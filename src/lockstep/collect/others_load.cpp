#include "lockstep/collect/others_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/base/units.h"

namespace lockstep::collect {
namespace {

/// The kernel's 1-minute average forgets with this time constant.
constexpr double kAveragedOver = 60;

/// Threads that a run keeps busy at most: all cores, or its workers with their loader processes.
double most_threads(const record::RunSpec& spec, const record::Machine& machine) {
  const auto each = std::max<std::int64_t>(1, spec.threads_per_worker) +
                    std::max<std::int64_t>(0, spec.data.loader_workers);
  return static_cast<double>(std::max<std::int64_t>(machine.cores, spec.workers * each));
}

/// What a run adds to the load average at `now`: n threads from `began` to `ended` add
/// n (exp(-(now - ended) / 60) - exp(-(now - began) / 60)).
double added_load(const store::RunSummary& run, std::int64_t now_ns,
                  const record::Machine& machine) {
  const double since_began = 1e-9 * static_cast<double>(now_ns - run.started_wall_ns);
  // A run without a recorded end may have run until now.
  const double ran = std::isfinite(run.total_s) ? run.total_s : since_began;
  const double since_ended = std::max(0.0, since_began - ran);
  return most_threads(run.spec, machine) *
         (std::exp(-since_ended / kAveragedOver) - std::exp(-since_began / kAveragedOver));
}

}  // namespace

std::string disturbing_load(const store::RunSummary& run, const record::Machine& machine,
                            std::span<const store::RunSummary> all) {
  const double disturbing = record::kDisturbingLoad * machine.cores;
  double rest = machine.load;
  for (const store::RunSummary& other : all) {
    if (rest <= disturbing) break;
    const bool before = other.id != run.id && other.started_wall_ns < run.started_wall_ns;
    if (before && !other.imported) rest -= added_load(other, run.started_wall_ns, machine);
  }
  if (machine.cores <= 0 || rest <= disturbing) return "";
  return fmt::format("load average {:.2f} on {}", machine.load, counted(machine.cores, "core"));
}

}  // namespace lockstep::collect
