#include "lockstep/launch/core_splits.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "lockstep/base/units.h"

namespace lockstep::launch {
namespace {

/// Divisors of `most` and powers of two up to it, ascending.
std::vector<int> round_counts(int most) {
  std::vector<int> counts;
  for (int count = 1; count <= most; ++count) {
    if (most % count == 0 || std::has_single_bit(static_cast<unsigned>(count)))
      counts.push_back(count);
  }
  return counts;
}

/// At most `kept` of them, the first and the last included, in nearly equal ratios.
std::vector<int> thin_out(const std::vector<int>& counts, std::size_t kept) {
  if (counts.size() <= kept) return counts;
  std::vector<int> chosen;
  for (std::size_t i = 0; i < kept; ++i) {
    const double wanted =
        std::log(counts.back()) * static_cast<double>(i) / static_cast<double>(kept - 1);
    // Of two that are equally near, the smaller one, whatever the rounding.
    const auto nearer = [&](int a, int b) {
      return std::abs(std::log(a) - wanted) < std::abs(std::log(b) - wanted) - 1e-9;
    };
    const int nearest = *std::min_element(counts.begin(), counts.end(), nearer);
    if (chosen.empty() || chosen.back() != nearest) chosen.push_back(nearest);
  }
  return chosen;
}

}  // namespace

std::vector<CoreSplit> core_splits(int cores, int threads) {
  std::vector<CoreSplit> splits;
  const int most = std::max(1, threads > 0 ? cores / threads : cores);
  const std::size_t kept = threads > 0 ? kMostSplits : kMostSplits - 1;
  for (const int workers : thin_out(round_counts(most), kept)) {
    splits.push_back({workers, threads > 0 ? threads : std::max(1, cores / workers)});
  }
  const CoreSplit half{cores / 2, 1};
  if (threads > 0 || cores < 2 || std::find(splits.begin(), splits.end(), half) != splits.end())
    return splits;
  const auto has_more_workers = [&](const CoreSplit& split) {
    return split.workers >= half.workers;
  };
  splits.insert(std::find_if(splits.begin(), splits.end(), has_more_workers), half);
  return splits;
}

std::string describe(const CoreSplit& split) {
  return counted(split.workers, "worker") + " x " + counted(split.threads, "thread");
}

}  // namespace lockstep::launch
