#include "lockstep/predict/scaling/situation.h"

#include <algorithm>
#include <cmath>

#include "lockstep/predict/scaling/host_boundary.h"

namespace lockstep::predict {
namespace {

/// One wild count must not rule a form out.
constexpr double kLargestOwnError = 0.5;
/// Of three counts only the third can be predicted from others, and one count says little.
constexpr std::size_t kLongSeries = 4;

/// Losses per doubling (log): from this size on, and this many times the largest before it, a loss
/// is sudden. Counts that lose less than the last limit lose nothing worth comparing with.
constexpr double kSuddenLoss = 0.3;
constexpr double kSuddenRatio = 3;
constexpr double kNoLoss = 0.02;

double mean_absolute_change(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  double sum = 0;
  for (std::size_t i = 1; i < values.size(); ++i) sum += std::fabs(values[i] - values[i - 1]);
  return sum / static_cast<double>(values.size() - 1);
}

Evidence evidence_of(const ScalingSeries& series) {
  if (series.points.size() == 1) return Evidence::kOneCount;
  if (shares_work(series)) return Evidence::kSharedWork;
  return series.points.size() == 2 ? Evidence::kTwoCounts : Evidence::kMoreCounts;
}

WorkSplit split_of(const ScalingSeries& series) {
  if (!shares_work(series)) return WorkSplit::kNone;
  if (series.scaling == Scaling::kStrong) return WorkSplit::kGlobalBatch;
  const bool batches =
      series.scaling == Scaling::kMixed && (!series.whole_time || series.same_work);
  return batches ? WorkSplit::kBatches : WorkSplit::kWholeRuns;
}

Place place_of(const Boundary& boundary) {
  if (boundary.crosses_next > 0) return Place::kLeaving;
  if (boundary.just_crossed > 0) return Place::kJustLeft;
  return boundary.beyond > 0 ? Place::kBeyond : Place::kInside;
}

bool sudden(const std::vector<double>& slope) {
  if (slope.size() < 2) return false;
  double before = kNoLoss;
  for (std::size_t i = 0; i + 1 < slope.size(); ++i) before = std::max(before, -slope[i]);
  return -slope.back() > std::max(kSuddenLoss, kSuddenRatio * before);
}

/// What each form got wrong on the steps of the series itself that lie where the target does.
std::array<double, kFormCount> errors_so_far(const ScalingSeries& series, Place place) {
  std::array<double, kFormCount> errors{};
  ScalingSeries seen = series;
  for (std::size_t step = series.points.size(); --step >= 2;) {
    seen.points.resize(step);
    const ScalingPoint& next = series.points[step];
    if (place_of(locate_boundary(seen, next)) != place) continue;
    const std::array<double, kFormCount> change = evaluate_forms(seen, next);
    const ScalingPoint& last = seen.points.back();
    const double actual = std::log(next.rate / next.workers) - std::log(last.rate / last.workers);
    for (std::size_t f = 0; f < change.size(); ++f) {
      errors[f] += std::min(std::fabs(change[f] - actual), kLargestOwnError);
    }
  }
  return errors;
}

}  // namespace

Situation describe(const ScalingSeries& series, const ScalingPoint& target) {
  const std::vector<ScalingPoint>& points = series.points;
  const std::vector<double> slope = slopes(points);
  const Boundary boundary = locate_boundary(series, target);
  Situation situation;
  situation.evidence = evidence_of(series);
  situation.split = split_of(series);
  situation.counts = points.size();
  situation.place = place_of(boundary);
  situation.host_size_known = boundary.crosses_next == 0 || boundary.crosses_next == 1;
  if (!slope.empty()) {
    situation.last_slope = slope.back();
    situation.largest_rise = std::max(0.0, *std::max_element(slope.begin(), slope.end()));
  }
  situation.roughness = mean_absolute_change(slope);
  // Across hosts a sudden loss is a full link or switch, which stays full.
  situation.sudden_loss = sudden(slope) && situation.place == Place::kInside;
  situation.doublings = std::log2(target.workers / points.back().workers);
  situation.forms = evaluate_forms(series, target);
  if (situation.evidence == Evidence::kMoreCounts && points.size() >= kLongSeries) {
    situation.own_errors = errors_so_far(series, situation.place);
  }
  return situation;
}

}  // namespace lockstep::predict
