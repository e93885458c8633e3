#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

using Seconds = std::chrono::duration<double>;

struct Bytes {
  std::uint64_t count = 0;
  auto operator<=>(const Bytes&) const = default;
};

/// "412 us", "38.2 ms", "12.4 s", "3 min 07 s", "2 h 05 min": three significant digits below a
/// minute.
std::string format_seconds(Seconds time);

/// Decimal units, as links and data sheets use them: "44.7 MB".
std::string format_bytes(Bytes size);

/// 1234567 -> "1,234,567".
std::string format_count(std::int64_t count);

/// A count and its noun: "1 worker", "1,024 workers"; `plural` where it does not end in -s:
/// counted(n, "process", "processes"), counted(n, "run is", "runs are").
std::string counted(std::int64_t count, std::string_view singular, std::string_view plural = {});

/// "2026-11-15 21:16:03" in local time, for people; nanoseconds since 1970.
std::string format_local_time(std::int64_t wall_ns);
/// "2026-11-15T20:16:03.123Z", for files.
std::string format_utc(std::int64_t wall_ns);

/// "25MB", "64 KiB", "1e6", "2GB" -> bytes. Throws kUsage naming `what` otherwise.
Bytes parse_bytes(std::string_view text, std::string_view what);

}  // namespace lockstep
