#include "lockstep/report/simulation_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lockstep/base/units.h"
#include "lockstep/report/render/estimate_text.h"
#include "lockstep/report/simulation_notes.h"

namespace lockstep::report {
namespace {

using simulate::SimulatedPoint;
using simulate::SimulatedScaling;

Cell step_ms(double seconds) {
  return significant(1000 * seconds);
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

void add_busiest_columns(Table& table) {
  table.columns.push_back({"busiest link", "", "busiest_link", Align::kLeft,
                           "the link that is in use for the largest part of an all-reduce"});
  table.columns.push_back({"in use", "%", "busiest_link_percent", Align::kRight,
                           "of its capacity, over an all-reduce"});
}

void add_busiest_cells(std::vector<Cell>& row, const SimulatedPoint& point) {
  const bool known = !point.busiest_link.empty();
  row.push_back(known ? Cell(point.busiest_link) : Cell());
  row.push_back(known ? significant(100 * point.busiest_share) : Cell());
}

void drop_column(Table& table, std::string_view key) {
  const auto found = std::find_if(table.columns.begin(), table.columns.end(),
                                  [&](const Column& column) { return column.key == key; });
  const auto at = found - table.columns.begin();
  table.columns.erase(found);
  for (std::vector<Cell>& row : table.rows) row.erase(row.begin() + at);
}

}  // namespace

Table simulation_table(const SimulatedScaling& scaling, const SimulationSource& source) {
  const bool flows = any_flows(scaling);
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
      {"on links", "ms", "communication_ms", Align::kRight, "total of all-reduces, hidden or not"},
      {"efficiency", "", "efficiency", Align::kRight,
       "examples/s relative to as many workers without communication"},
      {"examples/s", "", "examples_per_s", Align::kRight, "N b A / step"}};
  if (flows) add_busiest_columns(table);
  for (const SimulatedPoint& point : scaling.points) {
    std::vector<Cell> row{
        count(point.workers),
        count(point.hosts),
        point.workers > 1 ? Cell(std::string(algorithm_name(point.algorithm))) : Cell(),
        step_ms(point.step_s.value),
        step_ms(point.step_s.low),
        step_ms(point.step_s.high),
        step_ms(point.parts.compute_s),
        step_ms(point.parts.input_s),
        step_ms(std::max(point.parts.wait_s, 0.0)),
        step_ms(point.parts.transfer_s),
        step_ms(point.parts.communication_s),
        decimal(point.efficiency, 3),
        rate_cell(point)};
    if (flows) add_busiest_cells(row, point);
    table.rows.push_back(std::move(row));
  }
  if (!(scaling.scenario.shape.batch_per_worker > 0)) drop_column(table, "examples_per_s");
  if (const std::string pays = pays_note(scaling); !pays.empty()) table.notes.push_back(pays);
  add_simulation_notes(table, scaling, source);
  table.notes.push_back(method_note({&scaling, 1}));
  return table;
}

Table comparison_table(std::span<const SimulatedScaling> all, const SimulationSource& source) {
  Table table;
  table.title = "Simulated steps side by side";
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
       "examples/s relative to as many workers without communication"},
      {"examples/s", "", "examples_per_s", Align::kRight, "N b A / step"},
      {"speed", "", "relative_speed", Align::kRight,
       "examples/s relative to the first scenario at the same count"},
      {"pays up to", "", "pays_up_to", Align::kRight,
       "largest count up to which each step gave at least half of the ideal gain"}};
  const bool flows = std::any_of(all.begin(), all.end(), any_flows);
  if (flows) add_busiest_columns(table);
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
           step_ms(point.step_s.value), step_ms(point.step_s.low), step_ms(point.step_s.high),
           step_ms(std::max(point.parts.wait_s, 0.0)), step_ms(point.parts.transfer_s),
           decimal(point.efficiency, 3), rate_cell(point), decimal(relative, 2),
           one.points.size() < 2
               ? Cell()
               : count(one.pays ? one.pays->workers : one.points.back().workers)});
      if (flows) add_busiest_cells(table.rows.back(), point);
    }
  }
  table.notes.push_back(
      fmt::format("the next notes are about the first scenario, {}; the others differ from it as "
                  "their names state.",
                  all.front().scenario.name));
  add_simulation_notes(table, all.front(), source);
  table.notes.push_back(method_note(all));
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
    if (point.shared.cores > 0) json["contention"] = estimate_json(point.shared.compute);
    if (point.examples_per_s) json["examples_per_s"] = estimate_json(*point.examples_per_s);
    if (!point.busiest_link.empty()) {
      json["busiest_link"] = point.busiest_link;
      json["busiest_link_share"] = point.busiest_share;
      json["busiest_link_share_of_step"] = point.busiest_share_of_step();
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
                      {"overlap", scenario.shape.overlap},
                      {"hidden_share", scenario.shape.hidden},
                      {"jitter", scenario.jitter.deviation()},
                      {"points", std::move(points)}};
  if (scaling.points.size() > 1) {
    json["pays_up_to"] = scaling.pays ? scaling.pays->workers : scaling.points.back().workers;
  }
  return json;
}

}  // namespace lockstep::report
