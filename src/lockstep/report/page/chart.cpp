#include "lockstep/report/page/chart.h"

#include <algorithm>

#include "lockstep/report/study_columns.h"

namespace lockstep::report {
namespace {

struct PointRow {
  const Series* series;
  const Point* point;
};

std::string key_of(const Axis& axis) {
  std::string key = axis.unit.empty() ? axis.label : axis.label + "_" + axis.unit;
  for (char& letter : key) {
    const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
    if (letter >= 'A' && letter <= 'Z') {
      letter = static_cast<char>(letter - 'A' + 'a');
    } else if (!plain) {
      letter = '_';
    }
  }
  return key;
}

}  // namespace

std::string_view role_name(Role role) {
  switch (role) {
    case Role::kMeasured:
      return "measured";
    case Role::kDerived:
      return "derived";
    case Role::kPredicted:
      return "predicted";
    case Role::kSimulated:
      return "simulated";
    case Role::kIdeal:
      return "ideal";
    case Role::kLimit:
      return "limit";
  }
  return "measured";
}

bool Chart::empty() const {
  if (const auto* lines = std::get_if<LineChart>(&body)) {
    return std::none_of(lines->series.begin(), lines->series.end(),
                        [](const Series& one) { return !one.points.empty(); });
  }
  if (const auto* bars = std::get_if<BarChart>(&body)) return bars->categories.empty();
  return std::get<SpanChart>(body).spans.empty();
}

void View::add(Chart chart) {
  if (!chart.empty()) charts.push_back(std::move(chart));
}

Table points_table(const std::string& title, const LineChart& chart) {
  std::vector<PointRow> rows;
  for (const Series& series : chart.series) {
    if (series.role == Role::kIdeal || series.role == Role::kLimit) continue;
    for (const Point& point : series.points) rows.push_back({&series, &point});
  }
  TableBuilder<PointRow> builder;
  const std::string y = key_of(chart.y);
  builder
      .column({"series", "", "series", Align::kLeft, ""},
              [](const PointRow& row) { return Cell(row.series->name); })
      .column({chart.x.label, chart.x.unit, key_of(chart.x), Align::kRight, ""},
              [](const PointRow& row) { return plain_digits(row.point->x); })
      .column({chart.y.label, chart.y.unit, y, Align::kRight, ""},
              [](const PointRow& row) { return four_digits(row.point->y); })
      .column({"low", chart.y.unit, y + "_low", Align::kRight,
               "lower end: of the 90 % interval of a prediction, of ± one standard deviation of a "
               "measurement"},
              [](const PointRow& row) { return four_digits(row.point->low); })
      .column({"high", chart.y.unit, y + "_high", Align::kRight, "upper end of the same"},
              [](const PointRow& row) { return four_digits(row.point->high); })
      .column({"origin", "", "origin", Align::kLeft, ""},
              [](const PointRow& row) { return Cell(std::string(role_name(row.series->role))); })
      .column({"note", "", "note", Align::kLeft, ""},
              [](const PointRow& row) { return Cell(row.point->note); });
  Table table = builder.build(title, rows);
  table.label_columns = std::min<std::size_t>(2, table.columns.size());
  return table;
}

Table parts_table(const std::string& title, const std::string& category, const BarChart& chart) {
  Table table;
  table.title = title;
  table.columns.push_back({category, "", key_of({category, ""}), Align::kLeft, ""});
  for (const BarPart& part : chart.parts) {
    table.columns.push_back(
        {part.name, chart.value.unit, key_of({part.name, chart.value.unit}), Align::kRight, ""});
  }
  table.columns.push_back(
      {"sum", chart.value.unit, key_of({"sum", chart.value.unit}), Align::kRight, "of all parts"});
  for (std::size_t c = 0; c < chart.categories.size(); ++c) {
    std::vector<Cell> row{chart.categories[c]};
    double sum = 0;
    for (const BarPart& part : chart.parts) {
      row.push_back(four_digits(part.values[c]));
      sum += part.values[c];
    }
    row.push_back(four_digits(sum));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace lockstep::report
