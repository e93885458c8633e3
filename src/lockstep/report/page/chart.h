#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lockstep/report/render/table.h"

namespace lockstep::report {

/// Where the numbers of a series come from; a page draws each its own way.
enum class Role { kMeasured, kDerived, kPredicted, kSimulated, kIdeal, kLimit };

/// "measured", "derived", ...
std::string_view role_name(Role role);

/// One value of a series; `low` and `high` are an interval or the spread of repeats.
struct Point {
  double x = 0;
  double y = 0;
  std::optional<double> low{};
  std::optional<double> high{};
  std::string note{};  ///< shown with the exact values
};

/// Series of one name share a colour in every role.
struct Series {
  std::string name;
  Role role = Role::kMeasured;
  bool joined = true;  ///< a line through the points; false for points alone
  std::vector<Point> points;
};

enum class Scale { kLinear, kLog };

struct Axis {
  std::string label;
  std::string unit;  ///< empty for pure numbers
  Scale scale = Scale::kLinear;
  bool from_zero = false;
};

/// A line across a chart at one value of its x or y axis.
struct Mark {
  char axis = 'x';
  double at = 0;
  std::string label;
};

/// Values against a number: workers, batch, epochs, bytes.
struct LineChart {
  Axis x;
  Axis y;
  std::vector<Series> series;
  std::vector<Mark> marks;
  /// Series without points stay, so that each keeps its colour from page to page.
  bool fixed_series = false;
};

/// Parts that add up, stacked, one bar per category. `values` has one entry per category.
struct BarPart {
  std::string name;
  std::vector<double> values;
};

struct BarChart {
  Axis value;
  std::vector<std::string> categories;
  std::vector<BarPart> parts;
};

/// What happened when, one lane per rank.
struct Span {
  std::size_t lane = 0;
  double start = 0;
  double end = 0;
  std::string name;
};

struct SpanChart {
  Axis time;
  std::vector<std::string> lanes;
  std::vector<Span> spans;
};

/// A chart with the tables of its numbers. Charts of one `family` are alternatives: a page
/// shows one of them at a time and offers the others by their `choice`.
struct Chart {
  std::string id;  ///< unique on the page, for links to it
  std::string title;
  std::string caption;  ///< one or two sentences: what is drawn and how to read it
  std::string family{};
  std::string choice{};
  std::variant<LineChart, BarChart, SpanChart> body;
  std::vector<Table> tables{};

  /// Whether there is anything to draw.
  bool empty() const;
};

/// One section of a page.
struct View {
  std::string id;
  std::string title;
  std::string missing;  ///< what would fill the view, shown where it has no data
  std::vector<Chart> charts{};
  std::vector<Table> tables{};       ///< that belong to no chart
  std::vector<std::string> notes{};  ///< sentences

  /// Adds the chart unless it has nothing to draw.
  void add(Chart chart);
};

/// The numbers of the charts' series as a table: one row a point.
Table points_table(const std::string& title, const LineChart& chart);

/// One row a category, one column a part.
Table parts_table(const std::string& title, const std::string& category, const BarChart& chart);

}  // namespace lockstep::report
