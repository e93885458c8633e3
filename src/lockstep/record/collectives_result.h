#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/record/calibration.h"

namespace lockstep::record {

/// One size as the workers timed it.
struct CollectivesRow {
  CollectivePoint point;
  double deviation_s = 0;
  std::int64_t wrong = 0;  ///< elements that were not the sum
};

struct CollectivesResult {
  std::vector<CollectivesRow> rows;
  int nodes = 1;     ///< hosts that the workers were on
  std::string host;  ///< that of rank 0

  std::int64_t wrong() const {
    std::int64_t total = 0;
    for (const CollectivesRow& row : rows) total += row.wrong;
    return total;
  }
};

}  // namespace lockstep::record
