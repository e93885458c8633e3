#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace lockstep::import {

/// Values of one figure over a run, in fixed memory: count, sum and extremes of all of them, and an
/// evenly thinned sample for the median and for plots. Values that are not finite are counted
/// apart.
class Series {
 public:
  struct Point {
    std::int64_t position = 0;  ///< step, or the value's place in the log
    double value = 0;
  };
  static constexpr std::size_t kKept = 2048;

  void add(std::int64_t position, double value);

  std::uint64_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  double sum() const { return sum_; }
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  double minimum() const { return minimum_; }
  double maximum() const { return maximum_; }
  double last() const { return last_; }
  std::uint64_t not_finite() const { return not_finite_; }
  /// Of the sample; exact while at most kKept values were added. 0 when empty.
  double median() const;
  /// All values while there are at most kKept, then every 2nd, every 4th, ...
  const std::vector<Point>& sample() const { return sample_; }

 private:
  std::uint64_t count_ = 0;
  std::uint64_t not_finite_ = 0;
  double sum_ = 0;
  double minimum_ = std::numeric_limits<double>::infinity();
  double maximum_ = -std::numeric_limits<double>::infinity();
  double last_ = 0;
  std::uint64_t stride_ = 1;
  std::vector<Point> sample_;
};

}  // namespace lockstep::import
