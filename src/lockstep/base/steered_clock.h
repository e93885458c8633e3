#pragma once

#include "lockstep/base/clock.h"

namespace lockstep {

/// A clock for tests that changes only when the test moves it.
class SteeredClock final : public Clock {
 public:
  Nanoseconds monotonic() const override { return now; }
  Nanoseconds wall() const override { return now; }
  Nanoseconds now = 0;
};

}  // namespace lockstep
