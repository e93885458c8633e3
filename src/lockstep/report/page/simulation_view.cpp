#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lockstep/analyze/communication.h"
#include "lockstep/base/error.h"
#include "lockstep/base/units.h"
#include "lockstep/report/page/views.h"
#include "lockstep/report/simulation_tables.h"
#include "lockstep/simulate/simulation.h"

namespace lockstep::report {
namespace {

using record::Phase;

/// Doubled from one worker on; the largest is what a page can still call a question of the reader.
constexpr std::int64_t kMostSimulated = 1024;
constexpr double kUsualBucketBytes = 25e6;

/// A run whose steps were recorded, and the fewest workers: the step that others are simulated
/// from.
const RunDigest* simulated_run(const PageSource& source) {
  const RunDigest* best = nullptr;
  for (const RunDigest& digest : source.runs) {
    const bool phases = digest.breakdown.mean[Phase::kBackward].count() > 0;
    if (!phases || digest.run.started.spec.parameters < 1) continue;
    if (best == nullptr || digest.run.started.spec.workers < best->run.started.spec.workers) {
      best = &digest;
    }
  }
  return best;
}

simulate::Jitter jitter_of(const RunDigest& digest) {
  std::vector<double> samples;
  for (const collect::StepBin& bin : digest.steps.bins) samples.push_back(bin.mean_s);
  return digest.steps.steps_per_bin == 1 ? simulate::Jitter::measured(std::move(samples))
                                         : simulate::Jitter();
}

simulate::Scenario scenario_of(const RunDigest& digest, const predict::Link& link) {
  const record::RunSpec& spec = digest.run.started.spec;
  const analyze::RankBreakdown& mean = digest.breakdown.mean;
  simulate::Scenario scenario;
  simulate::StepShape& shape = scenario.shape;
  shape.accumulate = std::max(spec.accumulate, 1);
  shape.input_s = mean[Phase::kInputWait].count();
  shape.forward_s = mean[Phase::kForward].count() / shape.accumulate;
  shape.backward_s = mean[Phase::kBackward].count() / shape.accumulate;
  shape.other_s =
      (mean[Phase::kHostToDevice] + mean[Phase::kOptimizer] + mean[Phase::kOther]).count();
  shape.batch_per_worker = static_cast<double>(spec.batch_per_worker);
  const double bytes = analyze::kBytesPerParameter * static_cast<double>(spec.parameters);
  const double bucket =
      spec.bucket_bytes > 0 ? static_cast<double>(spec.bucket_bytes) : kUsualBucketBytes;
  shape.buckets =
      simulate::plan_buckets(bytes, bucket, spec.wire == record::Wire::kFloat ? 1 : 0.5);
  scenario.jitter = jitter_of(digest);
  scenario.cluster.link = {link.alpha_s, link.bytes_per_s};
  scenario.link_spread = link.spread;
  return scenario;
}

/// Examples/s of the runs like this one, by workers.
Series measured_series_of(const PageSource& source, const RunDigest& like) {
  Series series{"measured", Role::kMeasured, false, {}};
  for (const RunDigest& digest : source.runs) {
    const record::RunSpec& spec = digest.run.started.spec;
    const record::RunSpec& wanted = like.run.started.spec;
    const double step_s = digest.breakdown.mean.step.count();
    if (spec.recipe != wanted.recipe || spec.batch_per_worker != wanted.batch_per_worker ||
        !(step_s > 0)) {
      continue;
    }
    series.points.push_back({static_cast<double>(spec.workers),
                             static_cast<double>(spec.global_batch()) / step_s,
                             {},
                             {},
                             fmt::format("run {}", digest.run.summary.id)});
  }
  return series;
}

Chart counts_chart(const PageSource& source, const RunDigest& digest,
                   const simulate::SimulatedScaling& scaling, const SimulationSource& from) {
  LineChart chart;
  chart.x = {"workers", "", Scale::kLog, false};
  chart.y = {"examples/s", "", Scale::kLog, false};
  Series line{"simulated", Role::kPredicted, true, {}};
  for (const simulate::SimulatedPoint& point : scaling.points) {
    if (!point.examples_per_s) continue;
    line.points.push_back({static_cast<double>(point.workers), point.examples_per_s->value,
                           point.examples_per_s->low, point.examples_per_s->high,
                           std::string(algorithm_name(point.algorithm))});
  }
  chart.series = {measured_series_of(source, digest), line};
  return {"simulated-counts",
          "Simulated from run " + std::to_string(digest.run.summary.id),
          "Symbols are measured; the line with a band is simulated, the band is the 90 % interval. "
          "Every worker has a host and a device of its own; lockstep simulate has topologies.",
          "",
          "",
          std::move(chart),
          {simulation_table(scaling, from)}};
}

Chart timeline_chart(const simulate::SimulatedScaling& scaling) {
  const simulate::SimulatedPoint& point = scaling.points.back();
  const simulate::StepShape& shape = scaling.scenario.shape;
  const double slowest =
      1 + point.parts.wait_s / (shape.accumulate * (shape.forward_s + shape.backward_s));
  std::vector<simulate::BucketSpan> buckets;
  const simulate::StepParts parts =
      simulate::step_parts(shape, point.all_reduce_s, slowest, 1, &buckets);
  SpanChart chart;
  chart.time = {"time since the start of the step", "ms", Scale::kLinear, true};
  chart.lanes = {"average worker", "slowest worker", "link"};
  for (std::size_t lane = 0; lane < 2; ++lane) {
    double at = 0;
    const double factor = lane == 0 ? 1 : slowest;
    const auto add = [&](double seconds, const char* name) {
      if (seconds > 0) chart.spans.push_back({lane, 1e3 * at, 1e3 * (at + seconds), name});
      at += seconds;
    };
    for (int micro = 0; micro < shape.accumulate; ++micro) {
      add(factor * shape.forward_s, "forward");
      add(factor * shape.backward_s, "backward");
    }
    add(lane == 0 ? parts.wait_s : 0, "comm: wait");
    add(parts.transfer_s, "comm: transfer");
    add(shape.other_s, "optimizer");
  }
  for (const simulate::BucketSpan& span : buckets) {
    chart.spans.push_back({2, 1e3 * span.begin_s, 1e3 * span.end_s, "comm: transfer"});
  }
  return {"simulated-step",
          fmt::format("One simulated step of {} workers", format_count(point.workers)),
          "An average worker waits for the slowest; the link carries one bucket after the other.",
          "",
          "",
          std::move(chart)};
}

}  // namespace

View simulation_view(const PageContext& context) {
  View view{"simulation", "Simulated counts",
            "Needs a run with measured phases and a calibrated link: lockstep train, then lockstep "
            "bench collectives. lockstep simulate takes links and steps that are stated."};
  const PageSource& source = context.source;
  const RunDigest* digest = simulated_run(source);
  if (digest == nullptr || source.links.empty()) return view;
  try {
    const LinkCurve& curve = source.links.front();
    const predict::Link link = predict::fit_link(curve.points);
    std::vector<std::int64_t> counts;
    for (std::int64_t n = 1; n <= kMostSimulated; n *= 2) counts.push_back(n);
    const auto scaling = simulate::simulate_scaling(scenario_of(*digest, link), counts, {});
    const SimulationSource from{run_title(digest->run.summary), "", "calibrated: " + curve.name};
    view.add(counts_chart(source, *digest, scaling, from));
    view.add(timeline_chart(scaling));
  } catch (const Error&) {
    // Too few sizes to separate latency from bandwidth: the view stays empty.
  }
  return view;
}

}  // namespace lockstep::report
