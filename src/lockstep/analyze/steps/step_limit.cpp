#include "lockstep/analyze/steps/step_limit.h"

#include <fmt/format.h>

#include <array>

namespace lockstep::analyze {
namespace {

using record::Phase;

/// Of a step: what others wait for one rank before that rank is called the limit.
constexpr double kLateRankShare = 0.2;

/// Phases in which a rank may be slow by its own doing, in words.
struct OwnPhase {
  Phase phase;
  const char* words;
};
constexpr std::array kOwnPhases{
    OwnPhase{Phase::kInputWait, "waiting for the next batch"},
    OwnPhase{Phase::kHostToDevice, "copying to the device"},
    OwnPhase{Phase::kForward, "in forward"},
    OwnPhase{Phase::kBackward, "in backward"},
    OwnPhase{Phase::kOptimizer, "in the optimizer"},
    OwnPhase{Phase::kOther, "outside of the measured phases"},
};

std::string late_rank_sentence(const StepBreakdown& steps) {
  const RankBreakdown* late = nullptr;
  for (const RankBreakdown& rank : steps.ranks) {
    if (rank.rank == steps.slowest->rank) late = &rank;
  }
  if (late == nullptr) return "";
  const auto others = static_cast<double>(steps.ranks.size() - 1);
  const OwnPhase* worst = nullptr;
  Seconds most{0};
  for (const OwnPhase& own : kOwnPhases) {
    Seconds mean{0};
    for (const RankBreakdown& rank : steps.ranks) {
      if (&rank != late) mean += rank[own.phase] / others;
    }
    if ((*late)[own.phase] - mean > most) {
      most = (*late)[own.phase] - mean;
      worst = &own;
    }
  }
  if (worst == nullptr) return "";
  return fmt::format(
      "bottleneck: rank {}: it spends {} more per step {} than the other ranks, which wait for it "
      "({:.0f} % of a step)",
      late->rank, format_seconds(most), worst->words, 100 * steps.slowest->cost_share);
}

struct Part {
  Seconds time;
  const char* sentence;
  std::string remedy{};
};

Seconds computing(const RankBreakdown& rank) {
  return rank[Phase::kForward] + rank[Phase::kBackward] + rank[Phase::kOptimizer];
}

std::string part_sentence(const Part& part, Seconds step) {
  std::string text = fmt::format(fmt::runtime(part.sentence), 100 * (part.time / step),
                                 format_seconds(part.time), format_seconds(step));
  return part.remedy.empty() ? text : text + "; " + part.remedy;
}

}  // namespace

std::string limit_sentence(const StepBreakdown& steps, const RunFacts& facts) {
  if (steps.ranks.empty() || steps.mean.step.count() <= 0) return "";
  if (computing(steps.mean).count() <= 0) {
    return fmt::format(
        "bottleneck: unknown: the program runs a step of {} as one call, so its phases could "
        "not "
        "be measured",
        format_seconds(steps.mean.step));
  }
  if (steps.slowest_stands_out() && steps.slowest->cost_share >= kLateRankShare) {
    if (std::string late = late_rank_sentence(steps); !late.empty()) return late;
  }
  const RankBreakdown& mean = steps.mean;
  const std::array parts{
      Part{computing(mean),
           "compute: {:.0f} % of a step is forward, backward and optimizer ({} of {})"},
      Part{mean[Phase::kInputWait], "input: {:.0f} % of a step waits for the next batch ({} of {})",
           input_remedy(mean.step, mean[Phase::kInputWait], facts)},
      Part{mean[Phase::kHostToDevice],
           "copies: {:.0f} % of a step moves data to the device ({} of {})"},
      Part{mean[Phase::kWait], "waiting: {:.0f} % of a step waits for other ranks ({} of {})"},
      Part{mean[Phase::kTransfer], "communication: {:.0f} % of a step moves gradients ({} of {})",
           transfer_remedy(mean.step, mean[Phase::kTransfer], computing(mean))},
      Part{mean[Phase::kOther],
           "other: {:.0f} % of a step is outside of the measured phases, such as logging ({} of "
           "{})"},
  };
  const Part* largest = &parts[0];
  for (const Part& part : parts) {
    if (part.time > largest->time) largest = &part;
  }
  std::string text = "bottleneck: " + part_sentence(*largest, mean.step);
  for (const Part* also : {&parts[1], &parts[3]}) {
    if (largest != also && also->time / mean.step >= kInputShare) {
      text += "\nalso " + part_sentence(*also, mean.step);
    }
  }
  return text;
}

}  // namespace lockstep::analyze
