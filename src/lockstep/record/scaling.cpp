#include "lockstep/record/scaling.h"

#include <array>

namespace lockstep::record {
namespace {

constexpr std::array<std::string_view, 4> kScalingNames{"strong", "weak", "mixed", "unstated"};

}  // namespace

std::string_view scaling_name(Scaling scaling) {
  return kScalingNames[static_cast<std::size_t>(scaling)];
}

std::optional<Scaling> scaling_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kScalingNames.size(); ++i) {
    const auto scaling = static_cast<Scaling>(i);
    if (kScalingNames[i] == name && scaling != Scaling::kUnstated) return scaling;
  }
  return std::nullopt;
}

}  // namespace lockstep::record
