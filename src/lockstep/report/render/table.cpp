#include "lockstep/report/render/table.h"

#include <fmt/format.h>

#include <cmath>

#include "lockstep/base/error.h"
#include "lockstep/base/text/text.h"
#include "lockstep/base/units.h"
#include "lockstep/record/measurement_columns.h"
#include "lockstep/report/render/render.h"

namespace lockstep::report {

Cell decimal(double value, int decimals) {
  if (!std::isfinite(value)) return {};
  return {fmt::format("{:.{}f}", value, decimals), value};
}

Cell significant(double value) {
  if (!std::isfinite(value)) return {};
  if (value == 0) return {"0", 0.0};
  if (std::fabs(value) >= 1e6) return {fmt::format("{:.2e}", value), value};
  // Rounded first, so that 9.999 counts as having two digits before the point.
  const double rounded = std::stod(fmt::format("{:.2e}", value));
  const int magnitude = static_cast<int>(std::floor(std::log10(std::fabs(rounded)) + 1e-12));
  if (magnitude < -6) return {fmt::format("{:.2e}", value), value};
  return {fmt::format("{:.{}f}", value, std::max(0, 2 - magnitude)), value};
}

Cell duration(double seconds) {
  if (!std::isfinite(seconds)) return {};
  return {format_seconds(Seconds(seconds)), seconds};
}

Cell count(std::int64_t value) {
  return {format_count(value), static_cast<double>(value)};
}

Cell count(const std::optional<std::int64_t>& value) {
  return value ? count(*value) : Cell{};
}

Cell batch_cell(const std::optional<double>& value) {
  if (!value) return {};
  if (*value == std::floor(*value)) return count(static_cast<std::int64_t>(*value));
  return {record::batch_text(*value), *value};
}

Format format_from_name(std::string_view name) {
  if (name == "text") return Format::kText;
  if (name == "markdown" || name == "md") return Format::kMarkdown;
  if (name == "csv") return Format::kCsv;
  if (name == "json") return Format::kJson;
  if (name == "latex" || name == "tex") return Format::kLatex;
  throw Error(ErrorKind::kUsage, fmt::format("unknown table format '{}'", name),
              "choose text, markdown, csv, json or latex");
}

std::string header_with_unit(const Column& column) {
  const std::string header = printable(column.header);
  return column.unit.empty() ? header : header + " (" + printable(column.unit) + ")";
}

std::string shown(const Cell& cell) {
  if (!cell.text.empty()) return printable(cell.text);
  return cell.number && std::isfinite(*cell.number) ? fmt::format("{}", *cell.number) : "-";
}

std::string render(const Table& table, Format format, const RenderOptions& options) {
  for (const auto& row : table.rows) {
    if (row.size() != table.columns.size()) {
      throw Error(ErrorKind::kInternal,
                  fmt::format("table '{}' has {} columns and a row of {} cells", table.title,
                              table.columns.size(), row.size()));
    }
  }
  switch (format) {
    case Format::kText:
      return render_text(table, options);
    case Format::kMarkdown:
      return render_markdown(table, options);
    case Format::kCsv:
      return render_csv(table);
    case Format::kJson:
      return render_json(table);
    case Format::kLatex:
      return render_latex(table, options);
  }
  throw Error(ErrorKind::kInternal, "unknown table format");
}

}  // namespace lockstep::report
