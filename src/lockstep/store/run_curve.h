#pragma once

#include <cstddef>
#include <vector>

#include "lockstep/record/event.h"

namespace lockstep::store {

/// How a run stood when it had trained so many epochs.
struct CurvePoint {
  double epochs = 0;  ///< 1.5: half of the second
  double loss = record::kUnknown;
  double examples_per_s = record::kUnknown;
};

/// The course of a run within its epochs in a bounded number of points, however long it is: each
/// is the mean over as many reports of progress as any other.
class RunCurve {
 public:
  static constexpr std::size_t kMostPoints = 512;

  enum class Change { kNone, kAdded, kRewritten };
  /// What became of points(): reports are gathered until they make one, and when there are too many
  /// points each two become one.
  Change add(const record::Progress& progress);

  const std::vector<CurvePoint>& points() const { return points_; }

 private:
  std::vector<CurvePoint> points_;
  std::vector<CurvePoint> gathered_;
  std::size_t reports_a_point_ = 1;
};

/// Each two points as their mean; the last alone where their number is odd.
std::vector<CurvePoint> halved(const std::vector<CurvePoint>& points);

/// Where a report of progress lies on the curve.
CurvePoint curve_point(const record::Progress& progress);

}  // namespace lockstep::store
