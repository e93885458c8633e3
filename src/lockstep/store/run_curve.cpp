#include "lockstep/store/run_curve.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace lockstep::store {
namespace {

/// Over the known values; unknown when none is.
double mean(std::span<const CurvePoint> points, double CurvePoint::*member) {
  double sum = 0;
  int known = 0;
  for (const CurvePoint& one : points) {
    if (!std::isfinite(one.*member)) continue;
    sum += one.*member;
    ++known;
  }
  return known > 0 ? sum / known : record::kUnknown;
}

CurvePoint merged(std::span<const CurvePoint> points) {
  return {points.back().epochs, mean(points, &CurvePoint::loss),
          mean(points, &CurvePoint::examples_per_s)};
}

}  // namespace

CurvePoint curve_point(const record::Progress& progress) {
  const double of_epoch =
      progress.steps_per_epoch > 0
          ? static_cast<double>(progress.step) / static_cast<double>(progress.steps_per_epoch)
          : 0.0;
  return {std::max(0, progress.epoch - 1) + of_epoch, progress.loss, progress.examples_per_s};
}

std::vector<CurvePoint> halved(const std::vector<CurvePoint>& points) {
  std::vector<CurvePoint> half;
  for (std::size_t i = 0; i < points.size(); i += 2) {
    half.push_back(
        merged(std::span(points).subspan(i, std::min<std::size_t>(2, points.size() - i))));
  }
  return half;
}

RunCurve::Change RunCurve::add(const record::Progress& progress) {
  gathered_.push_back(curve_point(progress));
  if (gathered_.size() < reports_a_point_) return Change::kNone;
  points_.push_back(merged(gathered_));
  gathered_.clear();
  if (points_.size() < kMostPoints) return Change::kAdded;
  points_ = halved(points_);
  reports_a_point_ *= 2;
  return Change::kRewritten;
}

}  // namespace lockstep::store
