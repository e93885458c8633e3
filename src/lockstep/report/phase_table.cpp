#include "lockstep/report/phase_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "lockstep/base/units.h"

namespace lockstep::report {
namespace {

using analyze::RankBreakdown;
using record::Phase;

constexpr std::array<const char*, record::kPhaseCount> kPhaseTitles{
    "input wait", "host to device", "forward",   "backward",
    "comm: wait", "comm: transfer", "optimizer", "other"};

struct Shown {
  std::string title;
  const RankBreakdown* breakdown;
};

/// What a rank did itself: its step without the time it waited for others.
Seconds own_time(const RankBreakdown& rank) {
  return rank.step - rank[Phase::kWait];
}

std::vector<Shown> shown_ranks(const analyze::StepBreakdown& breakdown, std::size_t most_ranks) {
  std::vector<Shown> shown;
  if (breakdown.ranks.size() <= most_ranks) {
    for (const RankBreakdown& rank : breakdown.ranks) {
      shown.push_back({fmt::format("rank {}", rank.rank), &rank});
    }
  } else {
    const auto [fast, slow] =
        std::minmax_element(breakdown.ranks.begin(), breakdown.ranks.end(),
                            [](const auto& a, const auto& b) { return own_time(a) < own_time(b); });
    shown.push_back({fmt::format("fastest, rank {}", fast->rank), &*fast});
    shown.push_back({fmt::format("slowest, rank {}", slow->rank), &*slow});
  }
  if (breakdown.ranks.size() > 1) shown.push_back({"mean", &breakdown.mean});
  return shown;
}

Cell milliseconds(Seconds time) {
  return Cell(fmt::format("{:.3f}", time.count() * 1e3), time.count() * 1e3);
}

Cell percent(double share) {
  return Cell(fmt::format("{:.1f} %", share * 100), share * 100);
}

/// Of a program that runs a step as one call, all of it is "other": its phases are unknown, not
/// zero.
bool phases_known(const analyze::StepBreakdown& breakdown) {
  const RankBreakdown& mean = breakdown.mean;
  return mean.step.count() <= 0 || mean[Phase::kOther] < 0.9999 * mean.step;
}

}  // namespace

Table phase_table(const analyze::StepBreakdown& breakdown, std::size_t most_ranks) {
  const std::vector<Shown> shown = shown_ranks(breakdown, most_ranks);
  Table table;
  table.title = "where the time went: mean per step";
  table.columns.push_back({.header = "phase", .key = "phase", .align = Align::kLeft});
  for (const Shown& rank : shown) {
    table.columns.push_back({.header = rank.title, .unit = "ms", .key = rank.title + "_ms"});
    table.columns.push_back({.header = "share", .key = rank.title + "_percent"});
  }
  const int phases = phases_known(breakdown) ? record::kPhaseCount : 0;
  for (int p = 0; p < phases; ++p) {
    const auto phase = static_cast<Phase>(p);
    std::vector<Cell> row{kPhaseTitles[static_cast<std::size_t>(p)]};
    for (const Shown& rank : shown) {
      row.push_back(milliseconds((*rank.breakdown)[phase]));
      row.push_back(percent(rank.breakdown->share(phase)));
    }
    table.rows.push_back(std::move(row));
  }
  std::vector<Cell> sum{"step"};
  for (const Shown& rank : shown) {
    sum.push_back(milliseconds(rank.breakdown->step));
    sum.push_back(percent(1));
  }
  table.rows.push_back(std::move(sum));
  const std::int64_t steps = breakdown.ranks.empty() ? 0 : breakdown.ranks.front().steps;
  table.notes.push_back(
      breakdown.warmup_steps > 0
          ? fmt::format("measured over {} of each rank; the first {} are warm-up and left out",
                        counted(steps, "step"), breakdown.warmup_steps)
          : fmt::format("measured over {} of each rank, warm-up included", counted(steps, "step")));
  if (phases == 0)
    table.notes.emplace_back("the program runs a step as one call: its phases are unknown");
  return table;
}

std::string slowest_rank_sentence(const analyze::StepBreakdown& breakdown) {
  if (!breakdown.slowest) return "";
  const analyze::SlowestRank& slowest = *breakdown.slowest;
  if (slowest.cost_share <= 0) return "";  // ranks that never meet do not wait for one of them
  const std::string cost = fmt::format(
      "its gradients were the last in {:.0f} % of the steps, and the others waited {} per step for "
      "it ({:.1f} % of the step)",
      slowest.last_share * 100, format_seconds(slowest.cost), slowest.cost_share * 100);
  if (!breakdown.slowest_stands_out()) {
    return fmt::format("no rank is always the slowest; rank {} cost the most time: {}",
                       slowest.rank, cost);
  }
  return fmt::format("slowest rank: {}; {}", slowest.rank, cost);
}

}  // namespace lockstep::report
