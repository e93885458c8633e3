#pragma once

#include <span>
#include <string>
#include <vector>

#include "lockstep/analyze/quality.h"
#include "lockstep/analyze/speedup/speedup.h"

namespace lockstep::analyze {

enum class Topic {
  kDecision,  ///< which configuration to use; see advise
  kCaution,   ///< why times of these runs may be wrong
  kWorkers,   ///< which worker count pays
  kDevice,    ///< what changed when the device did
  kLimit,     ///< what limits: communication, input, compute, too little data
  kMemory,    ///< what did not fit
  kQuality,   ///< what large batches did to loss and accuracy
  kMissing,   ///< what the data do not show, and what would
};

/// "workers", "device", ..., as reports, pages and JSON show it.
std::string_view topic_name(Topic topic);

/// One complete sentence with the numbers it is based on.
struct Finding {
  Topic topic = Topic::kMissing;
  std::string sentence;
};

/// A worker count pays while each step up to it gives at least this share of the gain that the
/// added devices could give at best.
inline constexpr double kPayingShare = 0.5;
/// Times that differ by less are called the same, since a single measurement is seldom more
/// precise.
inline constexpr double kSameTime = 0.10;

/// Whether the ranks of its largest run were measured and never communicated: then no worker count
/// is better than another.
bool ranks_trained_apart(const SpeedupGroup& group);

/// What the measurements mean, in the order of Topic, without the decision. Never empty: the last
/// findings name what is missing.
std::vector<Finding> verdict(std::span<const Configuration> configurations,
                             std::span<const SpeedupGroup> groups);

}  // namespace lockstep::analyze
