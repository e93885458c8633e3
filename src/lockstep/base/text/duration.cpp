#include "lockstep/base/text/duration.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "lockstep/base/text/text.h"

namespace lockstep {
namespace {

struct TimeUnit {
  std::string_view name;
  double seconds;
};

constexpr TimeUnit kTimeUnits[] = {
    {"s", 1},        {"sec", 1},          {"secs", 1},         {"second", 1},
    {"seconds", 1},  {"ms", 1e-3},        {"msec", 1e-3},      {"milliseconds", 1e-3},
    {"us", 1e-6},    {"\xC2\xB5s", 1e-6}, {"\xCE\xBCs", 1e-6},  // the micro sign and Greek mu
    {"ns", 1e-9},    {"m", 60},           {"min", 60},         {"mins", 60},
    {"minutes", 60}, {"h", 3600},         {"hr", 3600},        {"hrs", 3600},
    {"hours", 3600}, {"d", 86400},        {"days", 86400},
};

/// 0 for a unit that is not one of time.
double seconds_of_unit(std::string_view name) {
  for (const TimeUnit& unit : kTimeUnits) {
    if (unit.name == name) return unit.seconds;
  }
  return 0;
}

/// Takes a finite number from the front of `text`.
std::optional<double> take_finite(std::string_view& text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || !std::isfinite(value)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return value;
}

/// The whole of `text`, blanks aside, as a number that is not negative.
std::optional<double> whole_number(std::string_view text) {
  text = trim(text);
  const auto value = take_finite(text);
  return value && text.empty() && *value >= 0 ? value : std::nullopt;
}

/// "1:02:03.5", "02:03", "3-01:02:03".
std::optional<double> parse_clock_face(std::string_view text) {
  double days = 0;
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos && dash > 0) {
    const auto count = whole_number(text.substr(0, dash));
    if (!count || std::floor(*count) != *count) return std::nullopt;
    days = *count;
    text.remove_prefix(dash + 1);
  }
  double total = 0;
  int parts = 0;
  while (true) {
    const std::size_t colon = text.find(':');
    const auto value = whole_number(text.substr(0, colon));
    if (!value || ++parts > 3) return std::nullopt;
    total = total * 60 + *value;
    if (colon == std::string_view::npos) break;
    text.remove_prefix(colon + 1);
  }
  if (parts < 2) return std::nullopt;
  return total + days * 86400;
}

}  // namespace

std::optional<double> parse_duration(std::string_view text) {
  text = trim(text);
  if (text.find(':') != std::string_view::npos) return parse_clock_face(text);
  double total = 0;
  bool any = false;
  while (!text.empty()) {
    const auto value = take_finite(text);
    if (!value) return std::nullopt;
    text = trim(text);
    const std::size_t end = std::min(text.find_first_of(" 0123456789"), text.size());
    const double scale = seconds_of_unit(text.substr(0, end));
    if (scale == 0) return std::nullopt;
    total += *value * scale;
    any = true;
    text = trim(text.substr(end));
  }
  return any ? std::optional<double>(total) : std::nullopt;
}

}  // namespace lockstep
