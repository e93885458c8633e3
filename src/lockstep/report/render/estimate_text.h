#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lockstep/predict/estimate.h"

namespace lockstep::report {

/// "12.4 s (11.9 s to 13.0 s)".
std::string time_with_interval(const predict::Estimate& time);
/// "3.6 (3.4 to 3.8)", with `decimals` digits after the point.
std::string with_interval(const predict::Estimate& value, int decimals);
/// The same to three significant digits.
std::string significant_with_interval(const predict::Estimate& value);

nlohmann::json estimate_json(const predict::Estimate& estimate);

}  // namespace lockstep::report
