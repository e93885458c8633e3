#include "lockstep/advise/learned_quality.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lockstep/analyze/series.h"

namespace lockstep::advise {
namespace {

using predict::TableSeries;

/// The mean over the configurations of the series at this count, which may differ in threads.
std::optional<double> quality_of(const TableSeries& series, const Candidate& one,
                                 std::span<const analyze::QualityPoint> points,
                                 const std::string& metric) {
  double sum = 0;
  int count = 0;
  for (const analyze::QualityPoint& point : points) {
    const analyze::Configuration& c = point.configuration;
    const analyze::QualityFigure* figure = point.figure(metric);
    if (figure == nullptr || static_cast<double>(c.workers.value_or(0)) != one.workers) continue;
    if (analyze::series_key(c, series.key.scaling) != series.key) continue;
    sum += figure->last;
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

}  // namespace

std::optional<double> LearnedQuality::of(std::size_t candidate) const {
  return candidate < learned.size() ? learned[candidate] : std::nullopt;
}

std::optional<std::size_t> LearnedQuality::best(const std::vector<std::size_t>& candidates) const {
  const double sign = analyze::higher_is_better(metric) ? 1 : -1;
  std::optional<std::size_t> found;
  for (const std::size_t i : candidates) {
    const std::optional<double> value = of(i);
    if (value && (!found || sign * *value > sign * *of(*found))) found = i;
  }
  return found;
}

std::optional<std::size_t> LearnedQuality::best() const {
  std::vector<std::size_t> all(learned.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return best(all);
}

bool LearnedQuality::less(std::size_t candidate, std::size_t than) const {
  const std::optional<double> value = of(candidate);
  const std::optional<double> other = of(than);
  return value && other && !analyze::quality_held(metric, *value, *other);
}

std::string LearnedQuality::text(std::size_t candidate) const {
  const std::optional<double> value = of(candidate);
  return value ? fmt::format("{} {:.4g}", analyze::quality_name(metric), *value) : "";
}

std::optional<std::size_t> sign_of_less(const LearnedQuality& quality,
                                        const std::vector<Candidate>& candidates, std::size_t at,
                                        std::size_t than) {
  if (quality.less(at, than)) return at;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const bool smaller = candidates[i].series == candidates[at].series &&
                         candidates[i].workers <= candidates[at].workers;
    if (smaller && quality.less(i, than)) return i;
  }
  return std::nullopt;
}

LearnedQuality learned_quality(const std::vector<TableSeries>& series,
                               const std::vector<Candidate>& candidates,
                               std::span<const analyze::QualityPoint> points) {
  const bool same_epochs = std::all_of(series.begin(), series.end(), [&](const TableSeries& one) {
    return one.epochs == series.front().epochs;
  });
  if (!same_epochs) return {};
  for (const char* metric : {"val_accuracy", "val_loss"}) {
    LearnedQuality quality{metric, {}};
    for (const Candidate& one : candidates) {
      quality.learned.push_back(quality_of(series[one.series], one, points, metric));
    }
    if (quality.best()) return quality;
  }
  return {};
}

}  // namespace lockstep::advise
