#include "lockstep/collect/digest_text.h"

#include <nlohmann/json.hpp>

namespace lockstep::collect {
namespace {

using analyze::RankBreakdown;
using nlohmann::json;
using record::StepTimes;

json phases_json(const auto& phases, auto&& seconds) {
  json out = json::array();
  for (const auto& phase : phases) out.push_back(seconds(phase));
  return out;
}

json rank_json(const RankBreakdown& rank) {
  return {rank.rank, rank.steps, rank.step.count(),
          phases_json(rank.phases, [](Seconds phase) { return phase.count(); })};
}

RankBreakdown rank_from(const json& in) {
  RankBreakdown rank{in.at(0), in.at(1), Seconds(in.at(2).get<double>()), {}};
  for (std::size_t p = 0; p < rank.phases.size(); ++p) {
    rank.phases[p] = Seconds(in.at(3).at(p).get<double>());
  }
  return rank;
}

json breakdown_json(const analyze::StepBreakdown& breakdown) {
  json ranks = json::array();
  for (const RankBreakdown& rank : breakdown.ranks) ranks.push_back(rank_json(rank));
  json slowest;
  if (const auto& one = breakdown.slowest) {
    slowest = {one->rank, one->last_share, one->cost.count(), one->cost_share};
  }
  return {{"ranks", ranks},
          {"mean", rank_json(breakdown.mean)},
          {"warmup", breakdown.warmup_steps},
          {"slowest", slowest}};
}

analyze::StepBreakdown breakdown_from(const json& in) {
  analyze::StepBreakdown breakdown;
  for (const json& rank : in.at("ranks")) breakdown.ranks.push_back(rank_from(rank));
  breakdown.mean = rank_from(in.at("mean"));
  breakdown.warmup_steps = in.at("warmup");
  if (const json& one = in.at("slowest"); !one.is_null()) {
    breakdown.slowest = {one.at(0), one.at(1), Seconds(one.at(2).get<double>()), one.at(3)};
  }
  return breakdown;
}

json steps_json(const std::vector<StepTimes>& ranks) {
  json out = json::array();
  for (const StepTimes& one : ranks) {
    out.push_back({one.rank, one.epoch, one.step, one.examples, one.start_ns, one.ready_ns,
                   one.total_s, phases_json(one.phase_s, [](double phase) { return phase; })});
  }
  return out;
}

std::vector<StepTimes> steps_from(const json& in) {
  std::vector<StepTimes> ranks;
  for (const json& one : in) {
    ranks.push_back({one.at(0), one.at(1), one.at(2), one.at(3), one.at(4), one.at(5), one.at(6),
                     one.at(7).get<decltype(StepTimes::phase_s)>()});
  }
  return ranks;
}

json bin_json(const StepBin& bin) {
  return {bin.first_step, bin.last_step, bin.start_s, bin.shortest_s,
          bin.mean_s,     bin.longest_s, bin.busy};
}

StepBin bin_from(const json& in) {
  return {in.at(0),
          in.at(1),
          in.at(2),
          in.at(3),
          in.at(4),
          in.at(5),
          in.at(6).get<std::vector<double>>()};
}

StepDigest digest_from(const json& in) {
  StepDigest digest{in.at("steps"),
                    in.at("steps_per_bin"),
                    {},
                    steps_from(in.at("typical")),
                    steps_from(in.at("slowest"))};
  for (const json& bin : in.at("bins")) digest.bins.push_back(bin_from(bin));
  return digest;
}

}  // namespace

std::string digest_text(const RunDigest& digest) {
  json bins = json::array();
  for (const StepBin& bin : digest.steps.bins) bins.push_back(bin_json(bin));
  return json{{"breakdown", breakdown_json(digest.breakdown)},
              {"steps", digest.steps.steps},
              {"steps_per_bin", digest.steps.steps_per_bin},
              {"bins", bins},
              {"typical", steps_json(digest.steps.typical)},
              {"slowest", steps_json(digest.steps.slowest)}}
      .dump();
}

bool read_digest(const std::string& text, RunDigest& digest) {
  try {
    const json in = json::parse(text);
    analyze::StepBreakdown breakdown = breakdown_from(in.at("breakdown"));
    digest.steps = digest_from(in);
    digest.breakdown = std::move(breakdown);
    return true;
  } catch (const json::exception&) {
    return false;
  }
}

}  // namespace lockstep::collect
