#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/launch/core_splits.h"

namespace lockstep::study {

/// A split of the cores and how fast it trained.
struct MeasuredSplit {
  launch::CoreSplit split;
  std::vector<double> rates;  ///< examples per second, one per round; empty = out of memory

  double examples_per_s() const;  ///< mean of the rounds; 0 without any
};

/// Trains with a split for a moment: examples per second, or nothing when memory ran out.
using MeasureSplit = std::function<std::optional<double>(const launch::CoreSplit&)>;

/// Measures every split once, and again those that are not clearly slower than the fastest, in
/// reverse order: load that comes or goes meanwhile affects them alike. A single split is not
/// measured.
std::vector<MeasuredSplit> measure_splits(std::span<const launch::CoreSplit> splits,
                                          const MeasureSplit& measure);

struct SplitChoice {
  std::size_t at = 0;      ///< in the list that was given
  std::size_t second = 0;  ///< the fastest of the others; equal to `at` where there is none
  double noise = 0;        ///< rates that differ by at most this part count as equal
};

/// The fastest split. Of those whose rates are equal within the noise, the one with the fewest
/// workers, then threads: it has the smallest global batch and needs the least memory. Nothing when
/// none has a rate.
std::optional<SplitChoice> choose_split(std::span<const MeasuredSplit> measured);

/// One sentence: what was chosen and why.
std::string choice_sentence(std::span<const MeasuredSplit> measured, const SplitChoice& choice);

}  // namespace lockstep::study
