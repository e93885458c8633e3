#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "lockstep/analyze/speedup/speedup.h"
#include "lockstep/base/units.h"

namespace lockstep::analyze {

/// Gradients travel as 32-bit floats unless a source states otherwise.
inline constexpr double kBytesPerParameter = 4;

/// Of all gradients of a network with this many parameters.
constexpr double gradient_bytes(std::int64_t parameters) {
  return kBytesPerParameter * static_cast<double>(parameters);
}

/// T(N) - T(1)/N: what is left when the work divides perfectly: communication and everything
/// else that does not divide. Below zero where the baseline is too slow for the
/// comparison; see TimeSplit::baseline_off().
double derived_communication(double time_one, double time_n, std::int64_t workers);

/// 2 (N-1)/N S: bytes each worker sends (and receives) in a ring all-reduce of S bytes.
double ring_bytes(double bytes, std::int64_t workers);

/// S / t.
double algorithm_bandwidth(double bytes, double seconds);
/// algbw 2 (N-1)/N: comparable with the speed of a link for any N.
double bus_bandwidth(double bytes, double seconds, std::int64_t workers);

/// Where the time of one configuration goes, per step where phases were measured, per epoch where
/// only totals are known.
struct TimeSplit {
  Configuration configuration;
  Origin origin = Origin::kDerived;
  double total_s = 0;
  double compute_s = 0;              ///< derived: T(1)/N
  double communication_s = 0;        ///< exposed; derived: T(N) - T(1)/N
  std::optional<double> wait_s;      ///< of that, until the slowest rank was ready; measured only
  std::optional<double> transfer_s;  ///< of that, on the link; measured only
  std::optional<double> input_s;     ///< measured only
  std::optional<double> other_s;     ///< measured only
  bool per_step = false;

  /// T(N) is below T(1)/N, so the difference is no time: the baseline is off, by its warm-up or by
  /// what a smaller share gains from caches.
  bool baseline_off() const { return origin == Origin::kDerived && communication_s < 0; }
  /// False for a program that runs a step as one call: its phases are unknown, not zero.
  bool phases_known() const { return compute_s > 0; }
  double communication_share() const { return total_s > 0 ? communication_s / total_s : 0; }
};

/// Measured splits where the table has phases (step_time with sync_time), derived ones where the
/// group has T(1) at the same fixed batch.
std::vector<TimeSplit> time_splits(const SpeedupGroup& group);

/// The all-reduce of one configuration.
struct AllReduce {
  Configuration configuration;
  Origin origin = Origin::kDerived;  ///< of the time
  double bytes = 0;                  ///< S
  double ring_bytes = 0;             ///< per worker and step
  double seconds = 0;                ///< per step
  std::int64_t steps_per_epoch = 0;
  /// Bytes/s. Unknown where backward hides a part of the time that was measured.
  std::optional<double> algbw;
  std::optional<double> busbw;
  std::optional<double> utilisation;  ///< busbw / calibrated link
};

/// Calibrated links, bytes/s: one for every worker count, or one for each. 0 = not known.
struct LinkSpeeds {
  double any = 0;
  std::map<std::int64_t, double> by_workers{};

  std::optional<double> at(std::int64_t workers) const;
};

/// For each split whose configuration has parameters and steps. A communication time that is not
/// above zero gives none.
std::vector<AllReduce> all_reduces(std::span<const TimeSplit> splits, const LinkSpeeds& links = {});

}  // namespace lockstep::analyze
