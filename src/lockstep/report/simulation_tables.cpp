#include "lockstep/report/simulation_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lockstep/base/units.h"
#include "lockstep/report/estimate_text.h"

namespace lockstep::report {
namespace {

using simulate::SimulatedPoint;
using simulate::SimulatedScaling;

Cell milliseconds(double seconds) {
  return significant(1000 * seconds);
}

std::string time_text(double seconds) {
  return format_seconds(Seconds(seconds));
}

std::string size_text(double bytes) {
  return format_bytes(Bytes{static_cast<std::uint64_t>(bytes)});
}

std::string speed_text(const simulate::LinkSpeed& link) {
  return fmt::format("{}/s, {}", size_text(link.bytes_per_s), time_text(link.latency_s));
}

Cell rate_cell(const SimulatedPoint& point) {
  if (!point.examples_per_s) return {};
  const double value = point.examples_per_s->value;
  if (value < 1000) return significant(value);
  return {format_count(std::llround(value)), value};
}

/// Of one worker and step, where only ratios count.
double examples_of(const simulate::StepShape& shape) {
  return shape.accumulate * std::max(shape.batch_per_worker, 1.0);
}

bool any_flows(std::span<const SimulatedScaling> all) {
  return std::any_of(all.begin(), all.end(), [](const SimulatedScaling& one) {
    return std::any_of(one.points.begin(), one.points.end(),
                       [](const SimulatedPoint& point) { return point.flows; });
  });
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

std::string step_note(const simulate::Scenario& scenario, const SimulationSource& source) {
  const simulate::StepShape& shape = scenario.shape;
  std::string text = fmt::format(
      "step ({}): forward {}, backward {}, other {}, {} on the wire in {} bucket{}{}", source.text,
      time_text(shape.forward_s), time_text(shape.backward_s), time_text(shape.other_s),
      size_text(shape.gradient_bytes()), shape.buckets.size(), shape.buckets.size() == 1 ? "" : "s",
      shape.local_steps > 1 ? fmt::format(", parameters averaged every {} steps", shape.local_steps)
      : shape.overlap
          ? fmt::format(", sent while backward runs, which hides {:.0f} % of what it could",
                        100 * shape.hidden)
          : std::string(", sent after backward"));
  if (shape.accumulate > 1) text += fmt::format(", {} micro-steps", shape.accumulate);
  return text + ". Each worker has a device of its own.";
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

std::string pays_note(const SimulatedScaling& scaling) {
  if (scaling.points.size() < 2) return "";
  if (scaling.pays) {
    return fmt::format(
        "more workers pay up to {}: {} would be {:.2f}x as fast for {:.3g}x the workers "
        "(a step up pays with half of the gain its workers could give).",
        format_count(scaling.pays->workers), format_count(scaling.pays->next),
        scaling.pays->next_gain,
        static_cast<double>(scaling.pays->next) / static_cast<double>(scaling.pays->workers));
  }
  return fmt::format("more workers pay up to {}, the largest count asked for.",
                     format_count(scaling.points.back().workers));
}

/// Names the link that saturates, or the one that would first.
std::string busiest_note(const SimulatedPoint& point) {
  if (point.busiest_link.empty()) return "";
  constexpr double kSaturated = 0.9;
  const double share = point.busiest_share_of_step();
  return fmt::format(
      "{} workers: {} {} ({:.2g} % in use over a step, {:.0f} % during all-reduces).",
      format_count(point.workers),
      share >= kSaturated ? "a link saturates:" : "the busiest link is", point.busiest_link,
      100 * share, 100 * point.busiest_share);
}

void add_notes(Table& table, const SimulatedScaling& scaling, const SimulationSource& source) {
  const simulate::Scenario& scenario = scaling.scenario;
  table.notes.push_back(step_note(scenario, source));
  table.notes.push_back(cluster_note(scenario.cluster, source));
  table.notes.push_back(jitter_note(scenario.jitter, scaling.points.back().workers));
  table.notes.push_back(fmt::format(
      "simulated, not measured; intervals (90 %) cover the doubt about links ({:.0f} %), about "
      "compute ({:.0f} %), and about how much overlap hides (all to nothing).",
      100 * scenario.link_spread, 100 * scenario.compute_spread));
  if (const std::string busiest = busiest_note(scaling.points.back()); !busiest.empty()) {
    table.notes.push_back(busiest);
  }
  table.notes.push_back(
      any_flows({&scaling, 1})
          ? "network: flows that share links max-min fairly, round by round (SimGrid)."
          : "network: only the hosts' own links are shared, so times are counted, not simulated.");
}

void drop_column(Table& table, std::string_view key) {
  const auto found = std::find_if(table.columns.begin(), table.columns.end(),
                                  [&](const Column& column) { return column.key == key; });
  const auto at = found - table.columns.begin();
  table.columns.erase(found);
  for (std::vector<Cell>& row : table.rows) row.erase(row.begin() + at);
}

std::string origin_of(const simulate::Settings& settings, const char* name,
                      const simulate::MeasuredLink& measured) {
  const auto given = settings.find(name);
  if (given != settings.end() && !given->second.empty()) return "as stated";
  return measured.known() ? measured.origin : "assumed";
}

}  // namespace

SimulationSource simulation_source(const simulate::Settings& settings,
                                   const simulate::StepSource& step) {
  return {step.text, origin_of(settings, "inside", step.inside),
          origin_of(settings, "link", step.between)};
}

Table simulation_table(const SimulatedScaling& scaling, const SimulationSource& source) {
  const bool flows = any_flows({&scaling, 1});
  Table table;
  table.title = "Simulated steps";
  table.columns = {
      {"N", "", "workers", Align::kRight, "workers"},
      {"hosts", "", "hosts", Align::kRight, ""},
      {"algorithm", "", "algorithm", Align::kLeft, "of the all-reduce"},
      {"step", "ms", "step_time_ms", Align::kRight, "mean time of a step"},
      {"low", "ms", "step_time_low_ms", Align::kRight, "lower end of its 90 % interval"},
      {"high", "ms", "step_time_high_ms", Align::kRight, "upper end"},
      {"compute", "ms", "compute_ms", Align::kRight, "forward, backward and the rest"},
      {"input", "ms", "input_wait_ms", Align::kRight, "waiting for the loader"},
      {"wait", "ms", "wait_ms", Align::kRight,
       "exposed: from an average worker's last bucket to that of the slowest"},
      {"transfer", "ms", "transfer_ms", Align::kRight, "exposed: after that"},
      {"on links", "ms", "communication_ms", Align::kRight, "all-reduces in all, hidden or not"},
      {"efficiency", "", "efficiency", Align::kRight,
       "examples/s relative to as many workers that exchange nothing"},
      {"examples/s", "", "examples_per_s", Align::kRight, "N b A / step"}};
  if (flows) {
    table.columns.push_back({"busiest link", "", "busiest_link", Align::kLeft,
                             "the link that is in use for the largest part of an all-reduce"});
    table.columns.push_back({"in use", "%", "busiest_link_percent", Align::kRight,
                             "of its capacity, over an all-reduce"});
  }
  for (const SimulatedPoint& point : scaling.points) {
    std::vector<Cell> row{
        count(point.workers),
        count(point.hosts),
        point.workers > 1 ? Cell(std::string(algorithm_name(point.algorithm))) : Cell(),
        milliseconds(point.step_s.value),
        milliseconds(point.step_s.low),
        milliseconds(point.step_s.high),
        milliseconds(point.parts.compute_s),
        milliseconds(point.parts.input_s),
        milliseconds(std::max(point.parts.wait_s, 0.0)),
        milliseconds(point.parts.transfer_s),
        milliseconds(point.parts.communication_s),
        decimal(point.efficiency, 3),
        rate_cell(point)};
    if (flows) {
      row.push_back(point.flows ? Cell(point.busiest_link) : Cell());
      row.push_back(point.flows ? decimal(100 * point.busiest_share, 0) : Cell());
    }
    table.rows.push_back(std::move(row));
  }
  if (!(scaling.scenario.shape.batch_per_worker > 0)) drop_column(table, "examples_per_s");
  if (const std::string pays = pays_note(scaling); !pays.empty()) table.notes.push_back(pays);
  add_notes(table, scaling, source);
  return table;
}

Table comparison_table(std::span<const SimulatedScaling> all, const SimulationSource& source) {
  Table table;
  table.title = "Simulated steps beside each other";
  table.label_columns = 2;
  table.columns = {
      {"scenario", "", "scenario", Align::kLeft, "what differs from the first"},
      {"N", "", "workers", Align::kRight, "workers"},
      {"algorithm", "", "algorithm", Align::kLeft, "of the all-reduce"},
      {"step", "ms", "step_time_ms", Align::kRight, "mean time of a step"},
      {"low", "ms", "step_time_low_ms", Align::kRight, "lower end of its 90 % interval"},
      {"high", "ms", "step_time_high_ms", Align::kRight, "upper end"},
      {"wait", "ms", "wait_ms", Align::kRight, "exposed: until the slowest worker was ready"},
      {"transfer", "ms", "transfer_ms", Align::kRight, "exposed: after that"},
      {"efficiency", "", "efficiency", Align::kRight,
       "examples/s relative to as many workers that exchange nothing"},
      {"examples/s", "", "examples_per_s", Align::kRight, "N b A / step"},
      {"speed", "", "relative_speed", Align::kRight,
       "examples/s relative to the first scenario at the same count"},
      {"pays up to", "", "pays_up_to", Align::kRight,
       "largest count whose step up gave half of what its workers could give"}};
  for (const SimulatedScaling& one : all) {
    for (std::size_t i = 0; i < one.points.size(); ++i) {
      const SimulatedPoint& point = one.points[i];
      const SimulatedPoint& first = all.front().points[i];
      const double relative = first.parts.step_s / point.parts.step_s *
                              examples_of(one.scenario.shape) /
                              examples_of(all.front().scenario.shape);
      table.rows.push_back(
          {one.scenario.name, count(point.workers),
           point.workers > 1 ? Cell(std::string(algorithm_name(point.algorithm))) : Cell(),
           milliseconds(point.step_s.value), milliseconds(point.step_s.low),
           milliseconds(point.step_s.high), milliseconds(std::max(point.parts.wait_s, 0.0)),
           milliseconds(point.parts.transfer_s), decimal(point.efficiency, 3), rate_cell(point),
           decimal(relative, 2),
           one.points.size() < 2
               ? Cell()
               : count(one.pays ? one.pays->workers : one.points.back().workers)});
    }
  }
  add_notes(table, all.front(), source);
  return table;
}

nlohmann::json simulation_json(const SimulatedScaling& scaling, const SimulationSource& source) {
  const simulate::Scenario& scenario = scaling.scenario;
  nlohmann::json points = nlohmann::json::array();
  for (const SimulatedPoint& point : scaling.points) {
    nlohmann::json json{{"workers", point.workers},
                        {"hosts", point.hosts},
                        {"kind", "simulated"},
                        {"algorithm", algorithm_name(point.algorithm)},
                        {"network", point.flows ? "flows" : "counted"},
                        {"step_time_s", estimate_json(point.step_s)},
                        {"compute_s", point.parts.compute_s},
                        {"input_wait_s", point.parts.input_s},
                        {"wait_s", point.parts.wait_s},
                        {"transfer_s", point.parts.transfer_s},
                        {"communication_s", point.parts.communication_s},
                        {"efficiency", point.efficiency}};
    if (point.examples_per_s) json["examples_per_s"] = estimate_json(*point.examples_per_s);
    if (point.flows) {
      json["busiest_link"] = point.busiest_link;
      json["busiest_link_share"] = point.busiest_share;
    }
    points.push_back(std::move(json));
  }
  nlohmann::json json{{"scenario", scenario.name},
                      {"source", source.text},
                      {"topology", simulate::topology_name(scenario.cluster.topology)},
                      {"per_host", scenario.cluster.per_host},
                      {"link_bytes_per_s", scenario.cluster.link.bytes_per_s},
                      {"link_latency_s", scenario.cluster.link.latency_s},
                      {"gradient_bytes_on_wire", scenario.shape.gradient_bytes()},
                      {"buckets", scenario.shape.buckets.size()},
                      {"jitter", scenario.jitter.deviation()},
                      {"points", std::move(points)}};
  if (scaling.points.size() > 1) {
    json["pays_up_to"] = scaling.pays ? scaling.pays->workers : scaling.points.back().workers;
  }
  return json;
}

}  // namespace lockstep::report
