#include "lockstep/report/simulation_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "lockstep/base/units.h"

namespace lockstep::report {
namespace {

using simulate::SimulatedPoint;
using simulate::SimulatedScaling;

std::string time_text(double seconds) {
  return format_seconds(Seconds(seconds));
}

std::string size_text(double bytes) {
  return format_bytes(Bytes{static_cast<std::uint64_t>(bytes)});
}

std::string speed_text(const simulate::LinkSpeed& link) {
  return fmt::format("{}/s, {}", size_text(link.bytes_per_s), time_text(link.latency_s));
}

std::string topology_text(const simulate::Cluster& cluster) {
  const simulate::Topology& topology = cluster.topology;
  std::string text = simulate::topology_name(topology);
  if (topology.kind == simulate::TopologyKind::kFatTree) {
    const int up = topology.uplinks > 0 ? topology.uplinks : topology.hosts_per_switch;
    text += fmt::format(", {} hosts and {} uplinks per switch", topology.hosts_per_switch, up);
  }
  if (cluster.background > 0) {
    text += fmt::format(", other traffic on {:.0f} % of each link", 100 * cluster.background);
  }
  return text;
}

std::string cluster_note(const simulate::Cluster& cluster, const SimulationSource& source) {
  std::string text = "network: " + topology_text(cluster);
  if (cluster.topology.kind != simulate::TopologyKind::kPlatform) {
    text +=
        fmt::format("; link of each host {} ({})", speed_text(cluster.link), source.link_origin);
  }
  if (cluster.per_host > 1) {
    text += fmt::format("; {} workers per host, inside {} ({})", cluster.per_host,
                        speed_text(cluster.inside), source.inside_origin);
  }
  return text + ".";
}

/// Workers that share cores, at the largest count.
std::string sharing_text(const SimulatedPoint& point) {
  if (point.on_one_machine < 2 || point.shared.cores < 1) {
    return "Each worker has a device of its own.";
  }
  const predict::Estimate& factor = point.shared.compute;
  return fmt::format(
      "{} workers share the {} of a machine: compute takes {:.2f} times as long as "
      "measured ({:.2f} to {:.2f}){}.",
      point.on_one_machine, counted(point.shared.cores, "core"), factor.value, factor.low,
      factor.high, point.shared.spare_core ? "" : ", and no core is free for communication");
}

std::string exchange_text(const simulate::StepShape& shape) {
  if (shape.buckets.empty()) return "nothing to exchange";
  return fmt::format(
      "{} on the wire in {}{}", size_text(shape.gradient_bytes()),
      counted(std::ssize(shape.buckets), "bucket"),
      shape.local_steps > 1 ? fmt::format(", parameters averaged every {} steps", shape.local_steps)
      : shape.overlap
          ? fmt::format(", sent while backward runs, which hides {:.0f} % of what it could",
                        100 * shape.hidden)
          : std::string(", sent after backward"));
}

std::string step_note(const SimulatedScaling& scaling, const SimulationSource& source) {
  const simulate::StepShape& shape = scaling.scenario.shape;
  std::string text = fmt::format("step ({}): forward {}, backward {}, other {}, {}", source.text,
                                 time_text(shape.forward_s), time_text(shape.backward_s),
                                 time_text(shape.other_s), exchange_text(shape));
  if (shape.accumulate > 1) text += fmt::format(", {} micro-steps", shape.accumulate);
  return text + ". " + sharing_text(scaling.points.back());
}

std::string jitter_note(const simulate::Jitter& jitter, std::int64_t most) {
  if (jitter.none()) return "jitter: none; all workers take the same time for the same work.";
  std::string text = fmt::format(
      "jitter: {:.1f} % of a worker's compute time ({})", 100 * jitter.deviation(),
      jitter.samples() > 0 ? fmt::format("{} measured samples",
                                         format_count(static_cast<std::int64_t>(jitter.samples())))
                           : std::string("stated"));
  if (jitter.samples() > 0 && most > static_cast<std::int64_t>(jitter.samples())) {
    text += "; among more workers than samples, none is slower than the slowest sample";
  }
  return text + ".";
}

std::string percent_text(double share) {
  if (share < 1e-4) return "below 0.01 %";
  return share < 0.1 ? fmt::format("{:.2g} %", 100 * share) : fmt::format("{:.0f} %", 100 * share);
}

std::string origin_of(const simulate::Settings& settings, const char* name,
                      const simulate::MeasuredLink& measured) {
  const auto given = settings.find(name);
  if (given != settings.end() && !given->second.empty()) return "as stated";
  return measured.known() ? measured.origin : "assumed";
}

/// Whether the settings leave step, workers and the links that the run used as they were.
bool as_measured(const simulate::Settings& settings, const simulate::MeasuredCount& run) {
  const std::set<std::string_view> placing{"per-host", "seed", "shape", "link-spread"};
  const std::set<std::string_view> between{
      "link", "nics", "topology", "uplinks", "hosts-per-switch", "background"};
  return std::all_of(settings.begin(), settings.end(), [&](const auto& setting) {
    return setting.second.empty() || placing.contains(setting.first) ||
           (run.hosts == 1 && between.contains(setting.first));
  });
}

}  // namespace

bool any_flows(const SimulatedScaling& scaling) {
  return std::any_of(scaling.points.begin(), scaling.points.end(),
                     [](const SimulatedPoint& point) { return point.flows; });
}

SimulationSource simulation_source(const simulate::Settings& settings,
                                   const simulate::StepSource& step) {
  return {step.text, origin_of(settings, "inside", step.inside),
          origin_of(settings, "link", step.between),
          as_measured(settings, step.measured) ? step.measured : simulate::MeasuredCount{}};
}

std::string measured_note(const SimulatedScaling& scaling, const SimulationSource& source) {
  const simulate::MeasuredCount& run = source.measured;
  const auto point =
      std::find_if(scaling.points.begin(), scaling.points.end(), [&](const SimulatedPoint& one) {
        return run.step_s > 0 && one.workers == run.workers && one.hosts == run.hosts;
      });
  if (point == scaling.points.end()) return "";
  const bool slower = run.step_s > point->step_s.high;
  if (!slower && run.step_s >= point->step_s.low) return "";
  return fmt::format(
      "{} workers: the run itself took {} per step, {} the interval simulated for them; its links "
      "may be {} than simulated (lockstep bench collectives calibrates them).",
      format_count(run.workers), time_text(run.step_s), slower ? "above" : "below",
      slower ? "slower" : "faster");
}

std::string busiest_note(const SimulatedPoint& point) {
  if (point.busiest_link.empty()) return "";
  constexpr double kSaturated = 0.9;
  const double share = point.busiest_share_of_step();
  return fmt::format("{} workers: {} {} ({} in use over a step, {} during all-reduces).",
                     format_count(point.workers),
                     share >= kSaturated ? "a link saturates:" : "the busiest link is",
                     point.busiest_link, percent_text(share), percent_text(point.busiest_share));
}

std::string pays_note(const SimulatedScaling& scaling) {
  if (scaling.points.size() < 2) return "";
  if (scaling.pays) {
    return fmt::format(
        "more workers {} {}: {} would be {:.2f}x as fast for {:.3g}x the workers "
        "(a step up pays off if it gives at least half of the ideal gain).",
        scaling.pays->workers > scaling.points.front().workers ? "pay off up to"
                                                               : "do not pay off beyond",
        format_count(scaling.pays->workers), format_count(scaling.pays->next),
        scaling.pays->next_gain,
        static_cast<double>(scaling.pays->next) / static_cast<double>(scaling.pays->workers));
  }
  return fmt::format("more workers pay off up to {}, the largest count asked for.",
                     format_count(scaling.points.back().workers));
}

void add_simulation_notes(Table& table, const SimulatedScaling& scaling,
                          const SimulationSource& source) {
  const simulate::Scenario& scenario = scaling.scenario;
  table.notes.push_back(step_note(scaling, source));
  table.notes.push_back(cluster_note(scenario.cluster, source));
  table.notes.push_back(jitter_note(scenario.jitter, scaling.points.back().workers));
  const bool overlaps = scenario.shape.overlap && scenario.shape.local_steps == 1;
  table.notes.push_back(fmt::format(
      "simulated, not measured; intervals (90 %) cover the uncertainty of links ({:.0f} %){} "
      "compute "
      "({:.0f} %){}.",
      100 * scenario.link_spread, overlaps ? "," : " and", 100 * scenario.compute_spread,
      overlaps ? ", and of how much overlap hides (all to nothing)" : ""));
  for (const std::string& note :
       {measured_note(scaling, source), busiest_note(scaling.points.back())}) {
    if (!note.empty()) table.notes.push_back(note);
  }
}

std::string method_note(std::span<const SimulatedScaling> all) {
  const auto simulated = std::count_if(all.begin(), all.end(), any_flows);
  if (simulated == 0) {
    return "network: only the hosts' own links are shared, so times are computed exactly, not "
           "simulated.";
  }
  return fmt::format(
      "network: flows that share links max-min fairly, round by round (SimGrid){}.",
      simulated == std::ssize(all)
          ? ""
          : "; where only the hosts' own links are shared, times are computed exactly");
}

}  // namespace lockstep::report
