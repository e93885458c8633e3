#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lockstep::launch {

/// A way to divide the cores of a host: so many workers, of so many threads each.
struct CoreSplit {
  int workers = 1;
  int threads = 1;
  bool operator==(const CoreSplit&) const = default;
};

inline constexpr std::size_t kMostSplits = 6;

/// The splits of `cores` that are worth measuring: at most kMostSplits, none of more threads than
/// cores unless `threads` alone exceeds them, fewest workers first. Worker counts are divisors and
/// powers of two, from one worker to as many as fit; each has its share of the cores or, where
/// `threads` is not 0, so many threads. Without `threads`, half the cores with one thread each are
/// tried too: they are enough where memory is the limit.
std::vector<CoreSplit> core_splits(int cores, int threads);

/// "2 workers x 1 thread".
std::string describe(const CoreSplit& split);

}  // namespace lockstep::launch
