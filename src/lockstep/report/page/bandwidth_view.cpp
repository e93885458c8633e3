#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "lockstep/analyze/communication.h"
#include "lockstep/base/error.h"
#include "lockstep/base/units.h"
#include "lockstep/report/page/views.h"
#include "lockstep/report/study_tables.h"

namespace lockstep::report {
namespace {

/// The bus bandwidth of one timed all-reduce, GB/s.
double bus_gb(double bytes, double seconds, int workers) {
  return analyze::bus_bandwidth(bytes, seconds, workers) / 1e9;
}

/// The speed that utilisation is relative to, as a horizontal line.
void add_links(LineChart& chart, const analyze::LinkSpeeds& links) {
  const auto mark = [&](double speed, const std::string& name) {
    chart.marks.push_back({'y', speed / 1e9, fmt::format("{}: {:.3g} GB/s", name, speed / 1e9)});
  };
  if (links.any > 0) mark(links.any, "link");
  for (const auto& [workers, speed] : links.by_workers) {
    mark(speed, fmt::format("link of {} workers", workers));
  }
}

void add_calibrations(LineChart& chart, const PageSource& source) {
  for (const LinkCurve& link : source.links) {
    Series line{link.name, Role::kMeasured, true, {}};
    for (const predict::CollectiveTime& one : link.points) {
      if (one.seconds <= 0 || one.bytes <= 0) continue;
      line.points.push_back({one.bytes, bus_gb(one.bytes, one.seconds, one.workers), {}, {}, ""});
    }
    std::sort(line.points.begin(), line.points.end(),
              [](const Point& a, const Point& b) { return a.x < b.x; });
    // What a ring of the fitted latency and bandwidth would give at the same sizes.
    try {
      const predict::Link fit = predict::fit_link(link.points);
      Series fitted{link.name, Role::kDerived, true, {}};
      for (const Point& point : line.points) {
        const double seconds = fit.all_reduce_s(point.x, link.workers);
        fitted.points.push_back({point.x, bus_gb(point.x, seconds, link.workers), {}, {}, "fit"});
      }
      chart.series.push_back(std::move(fitted));
    } catch (const Error&) {
      // Too few sizes for a fit: only the points are drawn.
    }
    chart.series.push_back(std::move(line));
  }
}

/// Rows of collective benchmarks that other tools made (nccl-tests).
void add_imported(LineChart& chart, const PageSource& source) {
  std::map<std::string, Series> lines;
  for (const record::Measurement& row : source.rows) {
    if (row.metric != "busbw" || !row.bytes) continue;
    const std::string name =
        fmt::format("{}{}{}", row.collective.empty() ? "collective" : row.collective,
                    row.workers ? fmt::format(", {} workers", *row.workers) : "",
                    row.device.empty() ? "" : ", " + row.device);
    Series& line = lines[name];
    line.name = name;
    const auto x = static_cast<double>(*row.bytes);
    if (x > 0 && row.value > 0) line.points.push_back({x, row.value, {}, {}, ""});
  }
  for (auto& [name, line] : lines) {
    std::stable_sort(line.points.begin(), line.points.end(),
                     [](const Point& a, const Point& b) { return a.x < b.x; });
    chart.series.push_back(std::move(line));
  }
}

void add_training(LineChart& chart, const PageContext& context) {
  std::map<std::pair<std::string, bool>, Series> lines;
  std::set<double> sizes;
  for (const analyze::SpeedupGroup& group : context.groups) {
    for (const analyze::AllReduce& one :
         analyze::all_reduces(analyze::time_splits(group), context.source.options.links.speeds)) {
      if (!one.busbw) continue;
      const bool derived = one.origin == analyze::Origin::kDerived;
      const std::string name = fmt::format(
          "{} x {}, in training", one.configuration.workers.value_or(1), one.configuration.device);
      Series& line = lines[{name, derived}];
      line.name = name;
      line.role = derived ? Role::kDerived : Role::kMeasured;
      line.joined = false;
      line.points.push_back({one.bytes, *one.busbw / 1e9, {}, {}, one.configuration.label()});
      sizes.insert(one.bytes);
    }
  }
  for (auto& [key, line] : lines) chart.series.push_back(std::move(line));
  for (const double bytes : sizes) {
    chart.marks.push_back(
        {'x', bytes, "gradients: " + format_bytes(Bytes{static_cast<std::uint64_t>(bytes)})});
  }
}

void add_buckets(LineChart& chart, const PageSource& source) {
  std::set<std::uint64_t> buckets;
  for (const RunDigest& digest : source.runs) {
    const std::uint64_t bytes = digest.run.started.spec.bucket_in_use();
    if (bytes > 0) buckets.insert(bytes);
  }
  for (const std::uint64_t bytes : buckets) {
    chart.marks.push_back(
        {'x', static_cast<double>(bytes), "bucket: " + format_bytes(Bytes{bytes})});
  }
}

}  // namespace

View bandwidth_view(const PageContext& context) {
  View view{"bandwidth", "Bandwidth",
            "Bus bandwidth needs the time of communication and the parameters of the model, or a "
            "collective benchmark."};
  LineChart chart;
  chart.x = {"message size", "B", Scale::kLog, false};
  chart.y = {"bus bandwidth", "GB/s", Scale::kLog, false};
  add_calibrations(chart, context.source);
  add_imported(chart, context.source);
  add_training(chart, context);
  const bool any = !chart.series.empty();
  if (any) add_buckets(chart, context.source);
  if (any) add_links(chart, context.source.options.links.speeds);
  const Table points = points_table("Values of the chart", chart);
  view.add(
      {"busbw",
       "Bus bandwidth against message size",
       "busbw = S/t x 2(N-1)/N. Points from training use the whole gradient as one message "
       "and need runs in which backward hides no communication; those derived from totals are "
       "lower bounds. Vertical lines mark the gradients and buckets of the model, a horizontal one "
       "the link. Both axes are logarithmic.",
       "",
       "",
       std::move(chart),
       {points}});
  view.tables = all_reduce_tables(context.groups, context.source.options.links);
  return view;
}

}  // namespace lockstep::report
