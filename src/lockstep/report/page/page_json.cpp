#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "lockstep/base/text/text.h"
#include "lockstep/base/units.h"
#include "lockstep/base/version.h"
#include "lockstep/report/page/page.h"
#include "lockstep/report/render/render.h"

namespace lockstep::report {
namespace {

using nlohmann::json;

/// Version of the document; a page refuses a newer one.
constexpr int kPageVersion = 1;

/// Six significant digits: more than a chart can show and a person would read, at half the size.
json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  if (value == 0) return 0;
  const double unit = std::pow(10.0, 5 - std::floor(std::log10(std::fabs(value))));
  const double rounded = std::isfinite(unit) && unit > 0 ? std::round(value * unit) / unit : value;
  if (std::floor(rounded) == rounded && std::fabs(rounded) < 9e15) {
    return static_cast<std::int64_t>(rounded);
  }
  return rounded;
}

json cell_json(const Cell& cell) {
  if (cell.unknown()) return nullptr;
  if (!cell.number || !std::isfinite(*cell.number)) return printable(cell.text);
  return json::array({shown(cell), *cell.number});
}

json table_json(const Table& table) {
  json columns = json::array();
  for (const Column& column : table.columns) {
    columns.push_back({{"key", printable(column.key.empty() ? column.header : column.key)},
                       {"header", printable(column.header)},
                       {"unit", printable(column.unit)},
                       {"align", column.align == Align::kLeft ? "left" : "right"},
                       {"definition", printable(column.definition)}});
  }
  json rows = json::array();
  for (const auto& row : table.rows) {
    json cells = json::array();
    for (const Cell& cell : row) cells.push_back(cell_json(cell));
    rows.push_back(std::move(cells));
  }
  json notes = json::array();
  for (const std::string& note : table.notes) notes.push_back(printable(note));
  return {
      {"title", printable(table.title)}, {"columns", columns}, {"rows", rows}, {"notes", notes}};
}

json axis_json(const Axis& axis) {
  return {{"label", axis.label},
          {"unit", axis.unit},
          {"scale", axis.scale == Scale::kLog ? "log" : "linear"},
          {"zero", axis.from_zero}};
}

json points_json(const std::vector<Point>& points) {
  json out = json::array();
  for (const Point& point : points) {
    json one = json::array({number(point.x), number(point.y)});
    const bool interval = point.low && point.high;
    if (interval || !point.note.empty()) {
      one.push_back(interval ? number(*point.low) : json());
      one.push_back(interval ? number(*point.high) : json());
    }
    if (!point.note.empty()) one.push_back(printable(point.note));
    out.push_back(std::move(one));
  }
  return out;
}

json body_json(const LineChart& chart) {
  json series = json::array();
  for (const Series& one : chart.series) {
    if (one.points.empty() && !chart.fixed_series) continue;
    series.push_back({{"name", printable(one.name)},
                      {"role", role_name(one.role)},
                      {"joined", one.joined},
                      {"points", points_json(one.points)}});
  }
  json marks = json::array();
  for (const Mark& mark : chart.marks) {
    marks.push_back({{"axis", std::string(1, mark.axis)},
                     {"at", number(mark.at)},
                     {"label", printable(mark.label)}});
  }
  return {{"kind", "lines"},
          {"x", axis_json(chart.x)},
          {"y", axis_json(chart.y)},
          {"series", series},
          {"marks", marks}};
}

json body_json(const BarChart& chart) {
  json parts = json::array();
  for (const BarPart& part : chart.parts) {
    json values = json::array();
    for (const double value : part.values) values.push_back(number(value));
    parts.push_back({{"name", part.name}, {"values", values}});
  }
  json categories = json::array();
  for (const std::string& category : chart.categories) categories.push_back(printable(category));
  return {{"kind", "bars"},
          {"value", axis_json(chart.value)},
          {"categories", categories},
          {"parts", parts}};
}

json body_json(const SpanChart& chart) {
  json spans = json::array();
  for (const Span& span : chart.spans) {
    spans.push_back(
        json::array({span.lane, number(span.start), number(span.end), printable(span.name)}));
  }
  return {
      {"kind", "spans"}, {"time", axis_json(chart.time)}, {"lanes", chart.lanes}, {"spans", spans}};
}

json chart_json(const Chart& chart) {
  json out = std::visit([](const auto& body) { return body_json(body); }, chart.body);
  out["id"] = chart.id;
  out["title"] = printable(chart.title);
  out["caption"] = printable(chart.caption);
  out["family"] = chart.family;
  out["choice"] = printable(chart.choice);
  out["tables"] = json::array();
  for (const Table& table : chart.tables) out["tables"].push_back(table_json(table));
  return out;
}

json strings_json(const std::vector<std::string>& strings) {
  json out = json::array();
  for (const std::string& text : strings) out.push_back(printable(text));
  return out;
}

json view_json(const View& view) {
  json out{{"id", view.id},           {"title", view.title},
           {"missing", view.missing}, {"notes", strings_json(view.notes)},
           {"charts", json::array()}, {"tables", json::array()}};
  for (const Chart& chart : view.charts) out["charts"].push_back(chart_json(chart));
  for (const Table& table : view.tables) out["tables"].push_back(table_json(table));
  return out;
}

json advice_json(const JobAdvice& job) {
  const advise::Candidate& chosen = job.chosen();
  const std::optional<double> learned = job.quality.of(job.choice.at);
  return {{"job", printable(job.job)},
          {"sentence", printable(job.sentence())},
          {"workers", chosen.workers},
          {"series", printable(job.labels[chosen.series])},
          {"time_s", number(chosen.time_s.value)},
          {"time_low_s", number(chosen.time_s.low)},
          {"time_high_s", number(chosen.time_s.high)},
          {"time_text", format_seconds(Seconds(chosen.time_s.value))},
          {"interval_text", fmt::format("{} to {}", format_seconds(Seconds(chosen.time_s.low)),
                                        format_seconds(Seconds(chosen.time_s.high)))},
          {"time", printable(job.time_means)},
          {"cost", number(chosen.cost.value)},
          {"cost_text", fmt::format("{:.3g}", chosen.cost.value)},
          {"cost_means", job.cost_means},
          {"quality", learned ? number(*learned) : nullptr},
          {"quality_means", learned ? analyze::quality_name(job.quality.metric) : ""},
          {"quality_text", learned ? fmt::format("{:.4g}", *learned) : ""},
          {"origin", advise::origin_name(chosen.origin)}};
}

}  // namespace

nlohmann::json page_json(const Page& page) {
  json findings = json::array();
  for (const analyze::Finding& finding : page.findings) {
    findings.push_back(
        {{"topic", analyze::topic_name(finding.topic)}, {"sentence", printable(finding.sentence)}});
  }
  json facts = json::array();
  for (const auto& [name, value] : page.facts) facts.push_back({name, printable(value)});
  json advice = json::array();
  for (const JobAdvice& job : page.advice) advice.push_back(advice_json(job));
  json views = json::array();
  for (const View& view : page.views) views.push_back(view_json(view));
  json runs = json::array();
  for (const RunPosition& run : page.runs) {
    runs.push_back({run.id, store::state_name(run.state), run.epochs_done});
  }
  return {{"format", "lockstep-page"},
          {"version", kPageVersion},
          {"lockstep", kVersion},
          {"title", printable(page.title)},
          {"made", format_utc(page.made_wall_ns)},
          {"headline", printable(page.headline)},
          {"findings", findings},
          {"rule", page.rule},
          {"advice", advice},
          {"facts", facts},
          {"notices", strings_json(page.notices)},
          {"views", views},
          {"runs", runs}};
}

}  // namespace lockstep::report
