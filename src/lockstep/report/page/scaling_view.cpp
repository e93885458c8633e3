#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "lockstep/report/page/views.h"
#include "lockstep/report/study_tables.h"

namespace lockstep::report {
namespace {

using analyze::PointSeries;
using analyze::Scaling;
using analyze::SpeedupGroup;
using analyze::SpeedupPoint;

struct Line {
  const SpeedupGroup* group;
  PointSeries points;
};

std::int64_t baseline_of(const SpeedupGroup& group) {
  return group.baseline_workers.value_or(1);
}

/// Relative deviation of a quotient of two measured values.
double quotient_spread(const SpeedupPoint& a, const SpeedupPoint& b) {
  const double x = a.value > 0 ? a.deviation / a.value : 0;
  const double y = b.value > 0 ? b.deviation / b.value : 0;
  return std::sqrt(x * x + y * y);
}

Series measured_line(const std::string& name, const Line& line, bool efficiency) {
  Series series{name, Role::kMeasured, true, {}};
  for (const SpeedupPoint* point : line.points) {
    const double y = efficiency ? point->efficiency.value_or(0) : *point->speedup;
    Point drawn{static_cast<double>(*point->configuration.workers), y, {}, {}, ""};
    const double spread = quotient_spread(*point, *line.points.front());
    if (spread > 0 && !point->baseline) {
      drawn.low = y * (1 - spread);
      drawn.high = y * (1 + spread);
    }
    drawn.note = fmt::format("n = {}", point->count);
    series.points.push_back(std::move(drawn));
  }
  return series;
}

/// What comes after the last measured count of the series that is drawn under `name`.
Series predicted_line(const std::string& name, const JobAdvice& job, std::size_t at,
                      bool efficiency) {
  Series series{name, Role::kPredicted, true, {}};
  std::vector<const advise::Candidate*> found;
  for (const advise::Candidate& one : job.candidates) {
    if (one.series == at) found.push_back(&one);
  }
  std::sort(found.begin(), found.end(),
            [](const auto* a, const auto* b) { return a->workers < b->workers; });
  double last_measured = 0;
  for (const auto* one : found) {
    if (one->job.scaling.measured) last_measured = std::max(last_measured, one->workers);
  }
  for (const auto* one : found) {
    const auto& value = efficiency ? one->job.efficiency : one->job.speedup;
    if (one->workers < last_measured || !value) continue;
    series.points.push_back({one->workers, value->value, value->low, value->high, ""});
  }
  if (series.points.size() < 2) series.points.clear();
  return series;
}

Series ideal_line(const LineChart& chart, double baseline, bool efficiency) {
  std::set<double> counts;
  for (const Series& series : chart.series) {
    for (const Point& point : series.points) counts.insert(point.x);
  }
  Series ideal{"ideal", Role::kIdeal, true, {}};
  for (const double n : counts) {
    ideal.points.push_back({n, efficiency ? 1 : n / baseline, {}, {}, ""});
  }
  return ideal;
}

void add_predictions(LineChart& chart, const PageContext& context, const Line& line,
                     const std::string& name, bool efficiency) {
  const analyze::SeriesKey key = analyze::series_key(*line.group, *line.points.front());
  for (const JobAdvice& job : context.advice) {
    for (std::size_t s = 0; s < job.series.size(); ++s) {
      if (job.series[s].key != key) continue;
      chart.series.push_back(predicted_line(name, job, s, efficiency));
      return;
    }
  }
}

Chart scaling_chart(const PageContext& context, const std::vector<Line>& lines,
                    const std::string& job, const std::string& id, bool efficiency) {
  std::vector<analyze::SeriesKey> keys;
  for (const Line& line : lines) {
    keys.push_back(analyze::series_key(*line.group, *line.points.front()));
  }
  const std::vector<std::string> names = analyze::short_labels(keys);
  const Scaling scaling = lines.front().group->scaling;
  constexpr std::array<std::string_view, 4> kFixed{
      "global batch B fixed, batch per worker b = B/N",
      "batch per worker b fixed, global batch B = N b",
      "batch per worker b and global batch B both change",
      "batch per worker b or global batch B fixed, the source does not state which"};
  const std::string kind(record::scaling_name(scaling));
  LineChart chart;
  chart.x = {"workers", "", Scale::kLog, false};
  // A perfect speedup is straight where both axes are logarithmic.
  chart.y = efficiency ? Axis{"efficiency", "", Scale::kLinear, true}
                       : Axis{"speedup", "", Scale::kLog, false};
  const std::size_t shown = std::min(lines.size(), kMostLines);
  for (std::size_t i = 0; i < shown; ++i) {
    add_predictions(chart, context, lines[i], names[i], efficiency);
    chart.series.push_back(measured_line(names[i], lines[i], efficiency));
  }
  const std::int64_t baseline = baseline_of(*lines.front().group);
  const std::string over = baseline == 1 ? "" : fmt::format(" over {} workers", baseline);
  chart.series.push_back(ideal_line(chart, static_cast<double>(baseline), efficiency));
  std::string caption = fmt::format(
      "{}{} scaling: {}. {}, N0 = {}. Solid: measured, bars are one standard deviation where "
      "n > 1; dashed with a band: predicted, 90 %; dotted: ideal.",
      static_cast<char>(std::toupper(kind.front())), kind.substr(1),
      kFixed[static_cast<std::size_t>(scaling)],
      efficiency ? "Efficiency S N0/N" : "Speedup S = T(N0)/T(N)", baseline);
  if (shown < lines.size()) {
    caption += fmt::format(" {} of {} series are drawn; the table has all.", shown, lines.size());
  }
  Chart result{id,
               fmt::format("{}: {}{} under {} scaling", job, efficiency ? "efficiency" : "speedup",
                           over, kind),
               caption,
               "scaling",
               fmt::format("{}, {}, {}{}", job, kind, efficiency ? "efficiency" : "speedup", over),
               chart};
  result.tables = {points_table("Values of the chart", chart)};
  return result;
}

}  // namespace

View scaling_view(const PageContext& context) {
  View view{"scaling", "Speedup and efficiency",
            "A speedup needs two worker counts with the same batch: per worker for weak scaling, "
            "in total for strong scaling."};
  // Speedups over different counts are not comparable: 1.8 over 4 workers is not less than
  // 2.6 over 2.
  std::map<std::tuple<std::string, Scaling, std::int64_t>, std::vector<Line>> jobs;
  for (const SpeedupGroup& group : context.groups) {
    for (PointSeries& points : analyze::series_of(group)) {
      jobs[{analyze::job_name(group.model, group.dataset), group.scaling, baseline_of(group)}]
          .push_back({&group, std::move(points)});
    }
  }
  std::size_t at = 0;
  for (const auto& [key, lines] : jobs) {
    ++at;
    const std::string& job = std::get<0>(key);
    view.add(scaling_chart(context, lines, job, fmt::format("speedup-{}", at), false));
    view.add(scaling_chart(context, lines, job, fmt::format("efficiency-{}", at), true));
  }
  view.tables = speedup_tables(context.groups);
  return view;
}

}  // namespace lockstep::report
