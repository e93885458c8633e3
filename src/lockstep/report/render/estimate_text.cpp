#include "lockstep/report/render/estimate_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lockstep/base/units.h"

namespace lockstep::report {

using predict::Estimate;

std::string time_with_interval(const Estimate& time) {
  return fmt::format("{} ({} to {})", format_seconds(Seconds(time.value)),
                     format_seconds(Seconds(time.low)), format_seconds(Seconds(time.high)));
}

std::string with_interval(const Estimate& value, int decimals) {
  return fmt::format("{:.{}f} ({:.{}f} to {:.{}f})", value.value, decimals, value.low, decimals,
                     value.high, decimals);
}

std::string significant_with_interval(const Estimate& value) {
  return fmt::format("{:.3g} ({:.3g} to {:.3g})", value.value, value.low, value.high);
}

nlohmann::json estimate_json(const Estimate& estimate) {
  return {{"value", estimate.value}, {"low", estimate.low}, {"high", estimate.high}};
}

}  // namespace lockstep::report
