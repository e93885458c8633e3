#include <fmt/format.h>

#include <algorithm>

#include "lockstep/base/error.h"
#include "lockstep/base/units.h"
#include "lockstep/report/page/views.h"
#include "lockstep/report/simulation_notes.h"
#include "lockstep/report/simulation_tables.h"
#include "lockstep/simulate/drawn_step.h"
#include "lockstep/simulate/settings.h"

namespace lockstep::report {
namespace {

/// Doubled from one worker on; the largest is what a page can still call a question of the reader.
constexpr std::int64_t kMostSimulated = 1024;
/// Ranks of the timeline besides the slowest.
constexpr std::size_t kDrawnRanks = 6;

const predict::TableSeries* measured_series(const PageContext& context) {
  for (const predict::TableSeries& one : context.series) {
    if (one.key == context.source.simulated->series) return &one;
  }
  return nullptr;
}

void add_measured(LineChart& chart, const predict::TableSeries& measured) {
  Series points{"measured", Role::kMeasured, false, {}};
  Series beyond{"predicted", Role::kPredicted, true, {}};
  for (const predict::ScalingPoint& point : measured.series.points) {
    const auto rate = predict::predict_job(measured, {point.workers}).throughput;
    if (rate) points.points.push_back({point.workers, rate->value, {}, {}, ""});
  }
  const double last = measured.series.points.back().workers;
  // Predictions from counts say little about more than eight times the largest.
  for (double workers = last; workers <= 8 * last; workers *= 2) {
    const auto rate = predict::predict_job(measured, {workers}).throughput;
    if (rate) beyond.points.push_back({workers, rate->value, rate->low, rate->high, ""});
  }
  chart.series.push_back(std::move(points));
  chart.series.push_back(std::move(beyond));
}

Chart counts_chart(const PageContext& context, const simulate::SimulatedScaling& scaling,
                   const SimulationSource& from) {
  LineChart chart;
  chart.x = {"workers", "", Scale::kLog, false};
  chart.y = {"examples/s", "", Scale::kLog, false};
  if (const auto* measured = measured_series(context)) {
    add_measured(chart, *measured);
  }
  Series line{"simulated", Role::kSimulated, true, {}};
  for (const simulate::SimulatedPoint& point : scaling.points) {
    if (!point.examples_per_s) continue;
    line.points.push_back({static_cast<double>(point.workers), point.examples_per_s->value,
                           point.examples_per_s->low, point.examples_per_s->high,
                           std::string(algorithm_name(point.algorithm))});
  }
  chart.series.push_back(std::move(line));
  return {"simulated-counts",
          fmt::format("Counts simulated from run {}", context.source.simulated->run),
          fmt::format("Symbols are measured; bands are 90 % intervals. A prediction continues the "
                      "measured counts, which may share one host; in the simulation each worker "
                      "has a host and a device of its own, and computes as long as in run {}. Use "
                      "lockstep simulate for other clusters.",
                      context.source.simulated->run),
          "",
          "",
          std::move(chart),
          {simulation_table(scaling, from)}};
}

/// Adds spans to one lane, one after the other.
class LaneWriter {
 public:
  LaneWriter(SpanChart& chart, const std::string& name) : chart_(chart), lane_(chart.lanes.size()) {
    chart.lanes.push_back(name);
  }
  void add(double seconds, const char* name) {
    if (seconds > 0) chart_.spans.push_back({lane_, 1e3 * at_, 1e3 * (at_ + seconds), name});
    at_ += seconds;
  }
  void add_at(const simulate::BucketSpan& span, const char* name) {
    chart_.spans.push_back({lane_, 1e3 * span.begin_s, 1e3 * span.end_s, name});
  }

 private:
  SpanChart& chart_;
  std::size_t lane_;
  double at_ = 0;
};

Chart timeline_chart(const simulate::SimulatedScaling& scaling) {
  const simulate::SimulatedPoint& point = scaling.points.back();
  const simulate::StepShape& shape = point.shape;
  const simulate::DrawnStep step = simulate::draw_step(scaling.scenario, point, kDrawnRanks);
  SpanChart chart;
  chart.time = {"time since the start of the step", "ms", Scale::kLinear, true};
  for (std::size_t i = 0; i < step.ranks.size(); ++i) {
    const simulate::DrawnRank& rank = step.ranks[i];
    const bool slowest = i == step.slowest && point.workers > 1;
    LaneWriter lane(chart, fmt::format("rank {}{}", rank.rank, slowest ? " (last)" : ""));
    lane.add(step.input_s, "input");
    for (int micro = 0; micro < shape.accumulate; ++micro) {
      lane.add(rank.factor * shape.forward_s, "forward");
      lane.add(rank.factor * shape.backward_s, "backward");
    }
    lane.add(rank.wait_s, "comm: wait");
    lane.add(step.transfer_s, "comm: transfer");
    lane.add(shape.other_s, "optimizer");
  }
  LaneWriter link(chart, point.busiest_link.empty() ? "link" : point.busiest_link);
  for (const simulate::BucketSpan& span : step.buckets) link.add_at(span, "comm: transfer");
  return {"simulated-step",
          fmt::format("One simulated step of {} workers", format_count(point.workers)),
          fmt::format("All workers wait for the one that is last. The lowest lane is the busiest "
                      "link, which carries one bucket after the other. {}",
                      busiest_note(point)),
          "",
          "",
          std::move(chart)};
}

}  // namespace

View simulation_view(const PageContext& context) {
  View view{
      "simulation", "Simulated counts",
      "Needs a run with recorded steps and a network of known size: lockstep train, or a script "
      "watched by lockstep run. lockstep simulate also works with a stated step time."};
  if (!context.source.simulated) return view;
  const simulate::StepSource& step = context.source.simulated->step;
  try {
    std::vector<std::int64_t> counts;
    for (std::int64_t n = 1; n <= kMostSimulated; n *= 2) counts.push_back(n);
    const auto scaling = simulate::simulate_scaling(simulate::make_scenario({}, step), counts, {});
    view.add(counts_chart(context, scaling, simulation_source({}, step)));
    view.add(timeline_chart(scaling));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kData) throw;  // such as gradients of unknown size
  }
  return view;
}

}  // namespace lockstep::report
