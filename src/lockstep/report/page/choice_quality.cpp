#include "lockstep/report/page/choice_quality.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lockstep/report/page/series_labels.h"

namespace lockstep::report {
namespace {

using predict::Candidate;
using predict::TableSeries;

bool is_of(const analyze::Configuration& c, const TableSeries& series, const Candidate& one) {
  const bool strong = series.scaling == predict::Scaling::kStrong;
  const bool same_batch = strong ? c.global_batch == series.global_batch
                                 : c.batch_per_worker == series.batch_per_worker;
  return same_batch && c.model == series.model && c.device == series.device &&
         static_cast<double>(c.workers.value_or(0)) == one.workers &&
         !contradicts(series.settings, c.variant);
}

/// The mean of several settings of the candidate.
std::optional<double> quality_of(const TableSeries& series, const Candidate& one,
                                 const std::vector<analyze::QualityPoint>& points,
                                 const std::string& metric) {
  double sum = 0;
  int count = 0;
  for (const analyze::QualityPoint& point : points) {
    const analyze::QualityFigure* figure = point.figure(metric);
    if (figure == nullptr || !is_of(point.configuration, series, one)) continue;
    sum += figure->last;
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

}  // namespace

std::optional<double> ChoiceQuality::of(std::size_t candidate) const {
  return candidate < learned.size() ? learned[candidate] : std::nullopt;
}

std::optional<std::size_t> ChoiceQuality::best(const std::vector<std::size_t>& candidates) const {
  const double sign = analyze::higher_is_better(metric) ? 1 : -1;
  std::optional<std::size_t> found;
  for (const std::size_t i : candidates) {
    const std::optional<double> value = of(i);
    if (value && (!found || sign * *value > sign * *of(*found))) found = i;
  }
  return found;
}

std::optional<std::size_t> ChoiceQuality::best() const {
  std::vector<std::size_t> all(learned.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return best(all);
}

bool ChoiceQuality::less(std::size_t candidate, std::size_t than) const {
  const std::optional<double> value = of(candidate);
  const std::optional<double> other = of(than);
  return value && other && !analyze::quality_held(metric, *value, *other);
}

std::string ChoiceQuality::text(std::size_t candidate) const {
  const std::optional<double> value = of(candidate);
  return value ? fmt::format("{} {:.4g}", analyze::quality_name(metric), *value) : "";
}

std::optional<std::size_t> sign_of_less(const ChoiceQuality& quality,
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

ChoiceQuality choice_quality(const std::vector<TableSeries>& series,
                             const std::vector<Candidate>& candidates,
                             const std::vector<analyze::QualityPoint>& points) {
  const bool same_epochs = std::all_of(series.begin(), series.end(), [&](const TableSeries& one) {
    return one.epochs == series.front().epochs;
  });
  if (!same_epochs) return {};
  for (const char* metric : {"val_accuracy", "val_loss"}) {
    ChoiceQuality quality{metric, {}};
    for (const Candidate& one : candidates) {
      quality.learned.push_back(quality_of(series[one.series], one, points, metric));
    }
    if (quality.best()) return quality;
  }
  return {};
}

}  // namespace lockstep::report
