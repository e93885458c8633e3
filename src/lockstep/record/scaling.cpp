#include "lockstep/record/scaling.h"

#include <array>

namespace lockstep::record {
namespace {

constexpr std::array<std::string_view, 3> kScalingNames{"strong", "weak", "mixed"};

}  // namespace

std::string_view scaling_name(Scaling scaling) {
  return kScalingNames[static_cast<std::size_t>(scaling)];
}

std::optional<Scaling> scaling_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kScalingNames.size(); ++i) {
    if (kScalingNames[i] == name) return static_cast<Scaling>(i);
  }
  return std::nullopt;
}

}  // namespace lockstep::record
