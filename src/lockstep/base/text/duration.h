#pragma once

#include <optional>
#include <string_view>

namespace lockstep {

/// Seconds of "12s", "31ms", "503us", "1.5 h", "2m 3s", "1h 02m", "3d", "1:23", "1:02:03" and
/// "1-02:03:04" (days). Nothing for other text, and for a number without a unit.
std::optional<double> parse_duration(std::string_view text);

}  // namespace lockstep
