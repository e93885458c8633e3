#pragma once

#include <string_view>

#include "lockstep/comm/wire/half_floats.h"

namespace lockstep::train {

/// How the ranks of a run come to hold the same parameters.
enum class Strategy {
  kOverlap,   ///< a bucket's all-reduce starts as soon as backward has filled it
  kBlocking,  ///< all buckets start when backward is done
  kCentral,   ///< gradients go to rank 0, which moves the parameters and sends them to all
  kLocal,     ///< every rank moves its own; now and then parameters are averaged
};

/// Throws kUsage for a name that is none of "overlap", "blocking", "central", "local".
Strategy strategy_from_name(std::string_view name);

/// Throws kUsage for a name that is none of "fp32", "fp16", "bf16".
comm::Wire wire_from_name(std::string_view name);

}  // namespace lockstep::train
