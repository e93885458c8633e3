#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "lockstep/report/page/views.h"
#include "lockstep/report/run_tables.h"

namespace lockstep::report {
namespace {

using collect::StepBin;
using collect::StepDigest;
using record::Phase;
using record::StepTimes;

/// More lines than this hide each other; the table has every rank.
constexpr std::size_t kMostRanks = 8;
constexpr std::size_t kMostShares = 60;

std::string thinned(const StepDigest& steps) {
  return steps.steps_per_bin > 1
             ? fmt::format(
                   " {} steps in {} bins of {}; the shortest and the longest of each bin "
                   "are kept.",
                   steps.steps, steps.bins.size(), steps.steps_per_bin)
             : fmt::format(" All {} steps are drawn.", steps.steps);
}

Chart step_times_chart(const RunDigest& digest) {
  LineChart chart;
  chart.x = {"time since the first step", "s", Scale::kLinear, true};
  chart.y = {"step time", "ms", Scale::kLog, false};
  Series line{"step time", Role::kMeasured, true, {}};
  for (const StepBin& bin : digest.steps.bins) {
    Point point{bin.start_s, bin.mean_s * 1e3, {}, {}, ""};
    if (bin.last_step > bin.first_step) {
      point.low = bin.shortest_s * 1e3;
      point.high = bin.longest_s * 1e3;
      point.note = fmt::format("steps {} to {}", bin.first_step, bin.last_step);
    } else {
      point.note = fmt::format("step {}", bin.first_step);
    }
    line.points.push_back(std::move(point));
  }
  chart.series.push_back(std::move(line));
  const Table points = points_table("Values of the chart", chart);
  return {fmt::format("steps-{}", digest.run.summary.id),
          "Step times: " + run_title(digest.run.summary),
          "Time of each step on its slowest rank; the line is the mean, the band spans the "
          "shortest to the longest." +
              thinned(digest.steps),
          "steps",
          run_title(digest.run.summary),
          std::move(chart),
          {points}};
}

/// Shares of single steps jump between nothing and all; these are means over as many bins as leave
/// at most kMostShares of them.
std::vector<StepBin> merged_bins(const std::vector<StepBin>& bins) {
  const std::size_t each = (bins.size() + kMostShares - 1) / kMostShares;
  std::vector<StepBin> merged;
  double weight = 0;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const StepBin& bin = bins[i];
    const double seconds = bin.mean_s * static_cast<double>(bin.last_step - bin.first_step + 1);
    if (i % each == 0) {
      merged.push_back(bin);
      weight = seconds;
      continue;
    }
    StepBin& sum = merged.back();
    sum.last_step = bin.last_step;
    weight += seconds;
    for (std::size_t r = 0; r < std::min(sum.busy.size(), bin.busy.size()) && weight > 0; ++r) {
      sum.busy[r] += (bin.busy[r] - sum.busy[r]) * seconds / weight;
    }
  }
  return merged;
}

Chart utilisation_chart(const RunDigest& digest) {
  LineChart chart;
  chart.x = {"time since the first step", "s", Scale::kLinear, true};
  chart.y = {"computing", "%", Scale::kLinear, true};
  const std::vector<StepBin> bins = merged_bins(digest.steps.bins);
  const std::size_t ranks = bins.empty() ? 0 : bins.front().busy.size();
  for (std::size_t r = 0; r < ranks; ++r) {
    Series line{fmt::format("rank {}", r), Role::kMeasured, true, {}};
    for (const StepBin& bin : bins) {
      if (r < bin.busy.size()) {
        line.points.push_back({bin.start_s,
                               100 * bin.busy[r],
                               {},
                               {},
                               fmt::format("steps {} to {}", bin.first_step, bin.last_step)});
      }
    }
    chart.series.push_back(std::move(line));
  }
  const Table points = points_table("Every rank", chart);
  const bool cut = chart.series.size() > kMostRanks;
  if (cut) chart.series.resize(kMostRanks);
  return {fmt::format("utilisation-{}", digest.run.summary.id),
          "Utilisation of each worker: " + run_title(digest.run.summary),
          fmt::format("Share of the step time in which the worker computed (host to device, "
                      "forward, backward, optimizer); the rest is waiting for input, for other "
                      "ranks and for the link. Means over {} steps each.{}",
                      bins.empty() ? 0 : bins.front().last_step - bins.front().first_step + 1,
                      cut ? fmt::format(" The first {} ranks are drawn.", kMostRanks) : ""),
          "utilisation",
          run_title(digest.run.summary),
          std::move(chart),
          {points}};
}

/// Processors (or the GPU if there is one) that each worker kept busy, as sampled by itself.
Chart processor_chart(const RunDigest& digest) {
  const std::vector<record::Utilisation>& samples = digest.run.utilisation;
  const bool gpu = std::any_of(samples.begin(), samples.end(),
                               [](const auto& one) { return std::isfinite(one.gpu); });
  LineChart chart;
  chart.x = {"time since the first step", "s", Scale::kLinear, true};
  chart.y = gpu ? Axis{"GPU busy", "%", Scale::kLinear, true}
                : Axis{"processors busy", "cores", Scale::kLinear, true};
  std::map<std::int32_t, Series> lines;
  for (const record::Utilisation& one : samples) {
    const double value = gpu ? 100 * one.gpu : one.cpu_cores;
    if (!std::isfinite(value)) continue;
    Series& line = lines[one.rank];
    line.name = fmt::format("rank {}", one.rank);
    line.points.push_back({one.at_s, value, {}, {}, fmt::format("epoch {}", one.epoch)});
  }
  for (auto& [rank, line] : lines) {
    if (chart.series.size() < kMostRanks) chart.series.push_back(std::move(line));
  }
  Chart result{
      fmt::format("processors-{}", digest.run.summary.id),
      "Utilisation sampled by each worker: " + run_title(digest.run.summary),
      "Mean over the interval that ends at each point, thinned to a few samples per epoch.",
      "utilisation",
      run_title(digest.run.summary) + (gpu ? ", GPU" : ", processors"),
      chart};
  result.tables = {utilisation_table(samples), points_table("Values of the chart", chart)};
  return result;
}

constexpr std::array<const char*, record::kPhaseCount> kPhaseTitles{
    "input",      "host to device", "forward",   "backward",
    "comm: wait", "comm: transfer", "optimizer", "other"};

/// Phases are recorded as sums in the order they happen; drawn one after the other they fill the
/// step.
Chart timeline_chart(const RunDigest& digest, const std::vector<StepTimes>& ranks,
                     const std::string& kind) {
  SpanChart spans;
  spans.time = {"time since the step began", "ms", Scale::kLinear, true};
  std::int64_t origin = ranks.empty() ? 0 : ranks.front().start_ns;
  for (const StepTimes& rank : ranks) origin = std::min(origin, rank.start_ns);
  Table table;
  table.title = "Phases of this step";
  table.columns = {
      {"rank", "", "rank", Align::kRight, ""},
      {"phase", "", "phase", Align::kLeft, ""},
      {"start", "ms", "start_ms", Align::kRight, "since the first rank began the step"},
      {"length", "ms", "length_ms", Align::kRight, ""}};
  table.label_columns = 2;
  for (std::size_t lane = 0; lane < ranks.size(); ++lane) {
    const StepTimes& rank = ranks[lane];
    spans.lanes.push_back(fmt::format("rank {}", rank.rank));
    double at = static_cast<double>(rank.start_ns - origin) * 1e-6;
    for (std::size_t p = 0; p < record::kPhaseCount; ++p) {
      const double length = rank.phase_s[p] * 1e3;
      if (length <= 0) continue;
      spans.spans.push_back({lane, at, at + length, kPhaseTitles[p]});
      table.rows.push_back(
          {decimal(rank.rank, 0), kPhaseTitles[p], decimal(at, 3), decimal(length, 3)});
      at += length;
    }
  }
  const std::int64_t step = ranks.empty() ? 0 : ranks.front().step;
  return {
      fmt::format("timeline-{}-{}", digest.run.summary.id, kind),
      fmt::format("Timeline of the {} step ({}): {}", kind, step, run_title(digest.run.summary)),
      "Phases of each rank one after the other; exposed communication is what backward did not "
      "hide. Drag to zoom, or use the buttons.",
      "timeline",
      fmt::format("{}, {} step", run_title(digest.run.summary), kind),
      std::move(spans),
      {table}};
}

}  // namespace

View steps_view(const PageContext& context) {
  View view{"steps", "Utilisation and steps",
            "Steps are recorded by lockstep train and found in traces of other tools."};
  for (const RunDigest* digest : shown_runs(context.source.runs)) {
    if (digest->steps.bins.empty()) continue;
    view.add(utilisation_chart(*digest));
    if (!digest->run.utilisation.empty()) view.add(processor_chart(*digest));
    view.add(step_times_chart(*digest));
    view.add(timeline_chart(*digest, digest->steps.typical, "typical"));
    view.add(timeline_chart(*digest, digest->steps.slowest, "slowest"));
  }
  return view;
}

}  // namespace lockstep::report
