#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/analyze/steps/step_breakdown.h"
#include "lockstep/record/event.h"
#include "lockstep/record/measurement.h"

namespace lockstep::analyze {

/// What names a run besides its spec; kept with its measurements.
struct RunIdentity {
  std::int64_t run = 0;
  std::string study{};
  int repeat = 0;
};

/// A run of ours as rows of the measurements table, so that it is analysed as any other:
/// epoch_time, throughput, losses and accuracies of each finished epoch (column epoch), total_time
/// once the run is done. Where there are several epochs, the times of the first are marked with the
/// note "warm_up"; of a run that a limit on steps ended within its first epoch, the throughput is
/// that of the steps after the warm-up, where `steps` has one. Values that are not finite give no
/// row, nor do losses and accuracies of an epoch that a limit on steps cut short. The times of a
/// run's only epoch have the note kContainsWarmUp.
std::vector<record::Measurement> measurements_of(const record::RunStarted& started,
                                                 std::span<const record::EpochResult> epochs,
                                                 const std::optional<record::RunEnded>& ended,
                                                 const RunIdentity& identity,
                                                 const StepBreakdown& steps = {});

/// What is known of a run that ran out of memory: that its configuration does not fit.
record::Measurement out_of_memory_row(const record::RunSpec& spec, const RunIdentity& identity);

}  // namespace lockstep::analyze
