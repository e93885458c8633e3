#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lockstep/base/units.h"

namespace lockstep::analyze {

/// Of a step, from which on waiting for data is worth a word though it is not the largest part.
inline constexpr double kInputShare = 0.15;

/// What is known of a run beside its phases, for what could be done about them.
struct RunFacts {
  std::optional<std::int64_t> loader_workers{};  ///< num_workers of its DataLoader
  std::optional<std::int64_t> cores{};           ///< per worker
};

/// What more processes that load data would gain, from the measured times: "loading does not
/// overlap with training (num_workers is 0) ...". Empty where the number of processes is not known.
std::string input_remedy(Seconds step, Seconds input, const RunFacts& facts);

/// What a larger batch per worker would do to the share of the transfer, whose time does not depend
/// on it. Empty where there is no compute.
std::string transfer_remedy(Seconds step, Seconds transfer, Seconds compute);

}  // namespace lockstep::analyze
