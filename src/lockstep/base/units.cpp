#include "lockstep/base/units.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <ctime>

#include "lockstep/base/error.h"

namespace lockstep {
namespace {

/// Three significant digits without an exponent.
std::string three_digits(double value) {
  const double size = std::fabs(value);
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

}  // namespace

std::string format_seconds(Seconds time) {
  const double s = time.count();
  const double size = std::fabs(s);
  if (!std::isfinite(s)) return "unknown";
  if (size == 0) return "0 s";
  if (size < 999.5e-9) return three_digits(s * 1e9) + " ns";
  if (size < 999.5e-6) return three_digits(s * 1e6) + " us";
  if (size < 999.5e-3) return three_digits(s * 1e3) + " ms";
  if (size < 59.95) return three_digits(s) + " s";
  // A half that arithmetic has made a little less is still rounded up: 120.5 s is always 2 min 01
  // s.
  const auto whole = static_cast<long long>(std::llround(size * (1 + 1e-12)));
  const char* sign = s < 0 ? "-" : "";
  if (whole < 3600) return fmt::format("{}{} min {:02} s", sign, whole / 60, whole % 60);
  return fmt::format("{}{} h {:02} min", sign, whole / 3600, whole % 3600 / 60);
}

std::string format_bytes(Bytes size) {
  constexpr std::array<const char*, 5> kUnits{"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(size.count);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return (unit == 0 ? fmt::format("{:.0f}", value) : three_digits(value)) + " " + kUnits[unit];
}

std::string format_count(std::int64_t count) {
  std::string digits = std::to_string(count);
  const std::size_t first = digits[0] == '-' ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string counted(std::int64_t count, std::string_view singular, std::string_view plural) {
  if (count == 1) return fmt::format("1 {}", singular);
  return plural.empty() ? fmt::format("{} {}s", format_count(count), singular)
                        : fmt::format("{} {}", format_count(count), plural);
}

std::string format_local_time(std::int64_t wall_ns) {
  const std::time_t seconds = static_cast<std::time_t>(wall_ns / 1'000'000'000);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", parts);
}

std::string format_utc(std::int64_t wall_ns) {
  const std::time_t seconds = static_cast<std::time_t>(wall_ns / 1'000'000'000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", parts, wall_ns / 1'000'000 % 1000);
}

Bytes parse_bytes(std::string_view text, std::string_view what) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  const auto fail = [&]() -> Bytes {
    throw Error(ErrorKind::kUsage, fmt::format("{} '{}' is not a size", what, text),
                "give a number with an optional unit, for example 25MB or 64KiB");
  };
  if (end == copy.c_str() || !(value >= 0) || value > 1e18) return fail();
  std::string unit;
  for (; *end != '\0'; ++end) {
    if (*end != ' ') unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*end)));
  }
  struct Unit {
    std::string_view name;
    double factor;
  };
  constexpr std::array<Unit, 14> kUnits{{{"", 1},
                                         {"b", 1},
                                         {"k", 1e3},
                                         {"kb", 1e3},
                                         {"kib", 1024},
                                         {"m", 1e6},
                                         {"mb", 1e6},
                                         {"mib", 1048576},
                                         {"g", 1e9},
                                         {"gb", 1e9},
                                         {"gib", 1073741824},
                                         {"t", 1e12},
                                         {"tb", 1e12},
                                         {"tib", 1099511627776}}};
  for (const Unit& entry : kUnits) {
    if (entry.name == unit) {
      return Bytes{static_cast<std::uint64_t>(std::llround(value * entry.factor))};
    }
  }
  return fail();
}

}  // namespace lockstep
