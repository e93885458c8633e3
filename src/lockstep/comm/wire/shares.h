#pragma once

#include <algorithm>
#include <cstddef>

namespace lockstep::comm {

/// Floats of a block: large enough that neither a call per block nor the pages at its ends matter,
/// small enough that buckets are divided evenly.
inline constexpr std::size_t kShareBlock = 1 << 14;

/// How ranks divide work on memory that all of them have: block k, counted from the start of the
/// memory, belongs to rank k mod N. A float has the same owner in any bucket, and each bucket is
/// divided about evenly.
struct Shares {
  int rank = 0;
  int size = 1;

  /// Calls visit(begin, end) for the parts of [begin, end) that belong to the rank, in order.
  template <class Visit>
  void each(std::size_t begin, std::size_t end, const Visit& visit) const {
    const auto n = static_cast<std::size_t>(size);
    const std::size_t first = begin / kShareBlock;
    const std::size_t ahead = (static_cast<std::size_t>(rank) + n - first % n) % n;
    for (std::size_t block = first + ahead; block * kShareBlock < end; block += n) {
      visit(std::max(begin, block * kShareBlock), std::min(end, (block + 1) * kShareBlock));
    }
  }
};

}  // namespace lockstep::comm
