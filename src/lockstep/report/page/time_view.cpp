#include <fmt/format.h>

#include <array>
#include <map>

#include "lockstep/analyze/communication.h"
#include "lockstep/base/units.h"
#include "lockstep/report/delays_table.h"
#include "lockstep/report/page/views.h"
#include "lockstep/report/study_tables.h"

namespace lockstep::report {
namespace {

using analyze::RankBreakdown;
using analyze::TimeSplit;
using record::Phase;

constexpr std::size_t kMostBars = 24;

std::string bar_label(const analyze::Configuration& c) {
  return c.variant.empty() ? c.label() : c.label() + ", " + c.variant;
}

/// Seconds of a part of the split, in the order they are stacked.
using Part = std::pair<const char*, double (*)(const TimeSplit&)>;

std::vector<Part> split_parts(bool per_step) {
  if (!per_step) {
    return {{"compute", [](const TimeSplit& s) { return s.compute_s; }},
            {"communication", [](const TimeSplit& s) { return std::max(0.0, s.communication_s); }}};
  }
  return {{"input", [](const TimeSplit& s) { return s.input_s.value_or(0); }},
          {"compute", [](const TimeSplit& s) { return s.compute_s; }},
          {"comm: wait", [](const TimeSplit& s) { return s.wait_s.value_or(0); }},
          {"comm: transfer",
           [](const TimeSplit& s) { return s.transfer_s.value_or(s.communication_s); }},
          {"other", [](const TimeSplit& s) { return s.other_s.value_or(0); }}};
}

Chart split_chart(const std::string& job, const std::vector<TimeSplit>& splits, bool per_step,
                  const std::string& id) {
  BarChart bars;
  bars.value = {per_step ? "time of a step" : "time of an epoch", per_step ? "ms" : "s",
                Scale::kLinear, true};
  const std::size_t shown = std::min(splits.size(), kMostBars);
  for (std::size_t i = 0; i < shown; ++i) {
    bars.categories.push_back(bar_label(splits[i].configuration));
  }
  for (const auto& [name, seconds] : split_parts(per_step)) {
    BarPart part{name, {}};
    for (std::size_t i = 0; i < shown; ++i) {
      part.values.push_back(seconds(splits[i]) * (per_step ? 1e3 : 1));
    }
    bars.parts.push_back(std::move(part));
  }
  std::string caption =
      per_step
          ? "Measured phases, mean over ranks. Wait is the time until the slowest rank was ready, "
            "transfer the time on the link; communication hidden behind backward is not shown."
          : "Derived from totals: compute is T(1)/N, the rest T(N) - T(1)/N is communication "
            "and everything else that does not divide.";
  if (shown < splits.size()) {
    caption +=
        fmt::format(" The first {} of {} are drawn; the table has all.", shown, splits.size());
  }
  Chart chart{id,
              fmt::format("{}: where the time of {} goes", job, per_step ? "a step" : "an epoch"),
              caption,
              "splits",
              fmt::format("{}, {}", job, per_step ? "per step" : "per epoch"),
              bars};
  return chart;
}

constexpr std::array<std::pair<Phase, const char*>, record::kPhaseCount> kPhases{
    {{Phase::kInputWait, "input"},
     {Phase::kHostToDevice, "host to device"},
     {Phase::kForward, "forward"},
     {Phase::kBackward, "backward"},
     {Phase::kWait, "comm: wait"},
     {Phase::kTransfer, "comm: transfer"},
     {Phase::kOptimizer, "optimizer"},
     {Phase::kOther, "other"}}};

Chart rank_chart(const RunDigest& digest) {
  BarChart bars;
  bars.value = {"time of a step", "ms", Scale::kLinear, true};
  for (const RankBreakdown& rank : digest.breakdown.ranks) {
    bars.categories.push_back(fmt::format("rank {}", rank.rank));
  }
  for (const auto& [phase, name] : kPhases) {
    BarPart part{name, {}};
    for (const RankBreakdown& rank : digest.breakdown.ranks) {
      part.values.push_back(rank[phase].count() * 1e3);
    }
    bars.parts.push_back(std::move(part));
  }
  std::string caption =
      fmt::format("Mean over {} steps of each rank", digest.breakdown.ranks.front().steps);
  if (digest.breakdown.warmup_steps > 0) {
    caption += fmt::format(", the first {} left out", digest.breakdown.warmup_steps);
  }
  caption += ". A rank that the others wait for has the shortest wait.";
  if (digest.breakdown.slowest) {
    const analyze::SlowestRank& slowest = *digest.breakdown.slowest;
    caption += fmt::format(
        " {} rank {}, last in {:.0f} % of the steps; the others waited {} per step for it "
        "({:.1f} %).",
        digest.breakdown.slowest_stands_out() ? "Slowest:"
                                              : "No rank is always the slowest; the most costly is",
        slowest.rank, 100 * slowest.last_share, format_seconds(slowest.cost),
        100 * slowest.cost_share);
  }
  Chart chart{fmt::format("ranks-{}", digest.run.summary.id),
              "Phases of each rank: " + run_title(digest.run.summary),
              caption,
              "ranks",
              run_title(digest.run.summary),
              bars};
  chart.tables = {parts_table("Mean phases of a step", "rank", bars)};
  return chart;
}

}  // namespace

View time_view(const PageContext& context) {
  View view{"time", "Where the time goes",
            "Runs of lockstep train and traces of other tools have the phases of each step; totals "
            "at one worker and more show what does not divide."};
  std::map<std::pair<std::string, bool>, std::vector<TimeSplit>> kinds;
  for (const analyze::SpeedupGroup& group : context.groups) {
    for (TimeSplit& split : analyze::time_splits(group)) {
      kinds[{analyze::job_name(group.model, group.dataset), !split.per_step}].push_back(
          std::move(split));
    }
  }
  std::size_t at = 0;
  for (const auto& [key, splits] : kinds) {
    view.add(split_chart(key.first, splits, !key.second, fmt::format("split-{}", ++at)));
  }
  for (const RunDigest* digest : shown_runs(context.source.runs)) {
    if (!digest->breakdown.ranks.empty()) view.add(rank_chart(*digest));
  }
  view.tables = split_tables(context.groups);
  std::vector<RunDelays> delays;
  for (const RunDigest& digest : context.source.runs) {
    delays.emplace_back(digest.run.summary.spec, digest.breakdown.slowest);
  }
  if (auto table = delays_table(delays)) view.tables.push_back(std::move(*table));
  return view;
}

}  // namespace lockstep::report
