#pragma once

#include <algorithm>
#include <deque>
#include <span>

#include "lockstep/comm/wire/half_floats.h"

namespace lockstep::comm {

/// The memory of a communicator whose sums travel in 16 bits.
class RoundedAreas {
 public:
  struct Split {
    std::span<float> rounded;  ///< empty if nothing of the values is
    Wire wire = Wire::kFloat;
    std::span<float> exact;
  };

  void add(std::span<float> values, Wire wire) { areas_.push_back({values, wire}); }

  /// A bucket begins inside an area or has nothing of any; it may reach beyond the end of one.
  Split split(std::span<float> values) const {
    for (const Area& area : areas_) {
      const float* end = area.values.data() + area.values.size();
      if (values.data() < area.values.data() || values.data() >= end) continue;
      const auto left = static_cast<std::size_t>(end - values.data());
      const std::size_t count = std::min(values.size(), left);
      return {values.first(count), area.wire, values.subspan(count)};
    }
    return {{}, Wire::kFloat, values};
  }

 private:
  struct Area {
    std::span<float> values;
    Wire wire;
  };
  std::deque<Area> areas_;
};

}  // namespace lockstep::comm
