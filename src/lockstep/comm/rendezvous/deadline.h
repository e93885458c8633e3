#pragma once

#include <chrono>

#include "lockstep/base/units.h"

namespace lockstep::comm {

using Deadline = std::chrono::steady_clock::time_point;

inline Deadline now() {
  return std::chrono::steady_clock::now();
}

inline Deadline after(Seconds time) {
  return now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(time);
}

}  // namespace lockstep::comm
