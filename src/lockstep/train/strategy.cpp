#include "lockstep/train/strategy.h"

#include <fmt/format.h>

#include "lockstep/base/error.h"

namespace lockstep::train {

Strategy strategy_from_name(std::string_view name) {
  if (name == "overlap") return Strategy::kOverlap;
  if (name == "blocking") return Strategy::kBlocking;
  if (name == "central") return Strategy::kCentral;
  if (name == "local") return Strategy::kLocal;
  throw Error(ErrorKind::kUsage, fmt::format("'{}' is not a strategy", name),
              "choose overlap, blocking, central or local");
}

comm::Wire wire_from_name(std::string_view name) {
  if (name == "fp32") return comm::Wire::kFloat;
  if (name == "fp16") return comm::Wire::kHalf;
  if (name == "bf16") return comm::Wire::kBrain;
  throw Error(ErrorKind::kUsage, fmt::format("'{}' is not a form for gradients to travel in", name),
              "choose fp32, fp16 or bf16");
}

}  // namespace lockstep::train
