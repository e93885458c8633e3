#include "lockstep/import/model/series.h"

#include <algorithm>
#include <cmath>

#include "lockstep/base/statistics.h"

namespace lockstep::import {

void Series::add(std::int64_t position, double value) {
  if (!std::isfinite(value)) {
    ++not_finite_;
    return;
  }
  if (count_ % stride_ == 0) {
    if (sample_.size() == kKept) {
      for (std::size_t i = 0; i < kKept / 2; ++i) sample_[i] = sample_[2 * i];
      sample_.resize(kKept / 2);
      stride_ *= 2;
    }
    if (count_ % stride_ == 0) sample_.push_back({position, value});
  }
  ++count_;
  sum_ += value;
  minimum_ = std::min(minimum_, value);
  maximum_ = std::max(maximum_, value);
  last_ = value;
}

double Series::median() const {
  if (sample_.empty()) return 0;
  std::vector<double> values;
  values.reserve(sample_.size());
  for (const Point& point : sample_) values.push_back(point.value);
  return lockstep::median(values);
}

}  // namespace lockstep::import
