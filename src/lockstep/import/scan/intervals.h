#pragma once

#include <cstddef>
#include <vector>

namespace lockstep::import {

/// A set of times as intervals that may overlap when added, in bounded memory: beyond kMost of them
/// those that touch are merged, then those with the smallest gaps.
class Intervals {
 public:
  static constexpr std::size_t kMost = 2'000'000;

  void add(double begin, double end);
  bool empty() const { return spans_.empty(); }

  /// Sorts and merges. The calls below expect it.
  void settle();
  /// Time covered within [begin, end].
  double covered(double begin, double end) const;
  /// Time covered by both within [begin, end].
  double shared(const Intervals& other, double begin, double end) const;

 private:
  struct Span {
    double begin;
    double end;
  };
  void merge(double gap);

  std::vector<Span> spans_;
};

}  // namespace lockstep::import
