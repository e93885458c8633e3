#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "lockstep/import/scan/input.h"

namespace lockstep::bench {

/// A log that is made up while it is read, so that its size costs neither disk nor memory.
struct GeneratedLog {
  std::string_view name;
  /// Gives piece `number` of the log; pieces are some kilobytes each.
  std::string (*piece)(std::uint64_t number);
};

/// One of each line format, and a Kineto trace.
const std::vector<GeneratedLog>& generated_logs();

/// `bytes` of the log, in whole pieces.
std::unique_ptr<import::ByteSource> generate(const GeneratedLog& log, std::uint64_t bytes);

}  // namespace lockstep::bench
