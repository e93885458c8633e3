#include "lockstep/import/scan/intervals.h"

#include <algorithm>

namespace lockstep::import {

void Intervals::add(double begin, double end) {
  if (!(end > begin)) return;
  // Kernels of one stream come in order: most extend or follow the last one.
  if (!spans_.empty() && begin >= spans_.back().begin && begin <= spans_.back().end) {
    spans_.back().end = std::max(spans_.back().end, end);
    return;
  }
  spans_.push_back({begin, end});
  if (spans_.size() <= kMost) return;
  merge(0);
  for (double gap = 0.5; spans_.size() > kMost / 2; gap *= 4) merge(gap);
}

void Intervals::merge(double gap) {
  std::sort(spans_.begin(), spans_.end(),
            [](const Span& a, const Span& b) { return a.begin < b.begin; });
  std::size_t kept = 0;
  for (const Span& span : spans_) {
    if (kept > 0 && span.begin <= spans_[kept - 1].end + gap) {
      spans_[kept - 1].end = std::max(spans_[kept - 1].end, span.end);
    } else {
      spans_[kept++] = span;
    }
  }
  spans_.resize(kept);
}

void Intervals::settle() {
  merge(0);
}

double Intervals::covered(double begin, double end) const {
  double total = 0;
  for (const Span& span : spans_) {
    total += std::max(0.0, std::min(span.end, end) - std::max(span.begin, begin));
  }
  return total;
}

double Intervals::shared(const Intervals& other, double begin, double end) const {
  double total = 0;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < spans_.size() && j < other.spans_.size()) {
    const double from = std::max({spans_[i].begin, other.spans_[j].begin, begin});
    const double to = std::min({spans_[i].end, other.spans_[j].end, end});
    total += std::max(0.0, to - from);
    if (spans_[i].end < other.spans_[j].end) {
      ++i;
    } else {
      ++j;
    }
  }
  return total;
}

}  // namespace lockstep::import
