#pragma once

#include <chrono>
#include <cstdint>

namespace lockstep {

/// Nanoseconds of the machine's monotonic clock: comparable between processes of one host.
using Nanoseconds = std::int64_t;

/// The source of time, passed in so that tests can steer it. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Nanoseconds monotonic() const = 0;
  /// Nanoseconds since 1970, UTC.
  virtual Nanoseconds wall() const = 0;
};

class SystemClock final : public Clock {
 public:
  Nanoseconds monotonic() const override {
    return std::chrono::steady_clock::now().time_since_epoch().count();
  }
  Nanoseconds wall() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
};

/// The monotonic clock of another host, as far as its distance from this one's is known.
class ShiftedClock final : public Clock {
 public:
  explicit ShiftedClock(Nanoseconds offset) : offset_(offset) {}
  Nanoseconds monotonic() const override { return clock_.monotonic() + offset_; }
  Nanoseconds wall() const override { return clock_.wall(); }

 private:
  SystemClock clock_;
  Nanoseconds offset_;
};

}  // namespace lockstep
