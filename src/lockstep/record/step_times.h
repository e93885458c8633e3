#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace lockstep::record {

/// The phases of a step, in the order they happen. They add up to the step: kOther is what remains.
/// kWait and kTransfer together are the exposed communication: the part of it that backward did not
/// hide.
enum class Phase {
  kInputWait,
  kHostToDevice,
  kForward,
  kBackward,
  kWait,      ///< exposed, until the slowest rank had its gradients ready
  kTransfer,  ///< exposed, after that: bytes on the link
  kOptimizer,
  kOther,
};

inline constexpr int kPhaseCount = 8;

/// "input_wait", "host_to_device", ...: the stem of column and field names.
std::string_view phase_name(Phase phase);

/// One step on one rank.
struct StepTimes {
  std::int32_t rank = 0;
  std::int32_t epoch = 0;
  std::int64_t step = 0;      ///< of the run, from 0
  std::int64_t examples = 0;  ///< that this rank processed
  std::int64_t start_ns = 0;  ///< monotonic clock of rank 0's host
  /// When this rank had its last gradient bucket ready; same clock. 0 with one worker.
  std::int64_t ready_ns = 0;
  double total_s = 0;
  std::array<double, kPhaseCount> phase_s{};

  double& operator[](Phase phase) { return phase_s[static_cast<std::size_t>(phase)]; }
  double operator[](Phase phase) const { return phase_s[static_cast<std::size_t>(phase)]; }
  double exposed_s() const { return (*this)[Phase::kWait] + (*this)[Phase::kTransfer]; }
};

/// Splits each rank's exposed communication of one step into wait and transfer. `ranks` contains
/// the same step on every rank; the slowest is the one whose last bucket was ready last. A rank
/// waits from its own ready time to the slowest's, never longer than it was exposed at all.
void split_exposed(std::span<StepTimes> ranks);

/// A block of steps of all ranks, as rank 0 hands it on.
struct StepBlock {
  std::vector<StepTimes> steps;
};

}  // namespace lockstep::record
