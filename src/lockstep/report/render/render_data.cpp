#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "lockstep/base/text/csv.h"
#include "lockstep/base/text/text.h"
#include "lockstep/report/render/render.h"

namespace lockstep::report {
namespace {

const std::string& key(const Column& column) {
  return column.key.empty() ? column.header : column.key;
}

/// Shortest digits that read back to the same number; whole numbers without a point.
std::string exact(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "";
}

nlohmann::ordered_json value_of(const Cell& cell) {
  if (!cell.number) {
    if (cell.text.empty()) return nullptr;
    return printable(cell.text);
  }
  if (!std::isfinite(*cell.number)) return nullptr;
  if (std::floor(*cell.number) == *cell.number && std::fabs(*cell.number) < 9e15) {
    return static_cast<std::int64_t>(*cell.number);
  }
  return *cell.number;
}

}  // namespace

std::string render_csv(const Table& table) {
  std::string out;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    out += (i > 0 ? "," : "") + csv_field(key(table.columns[i]));
  }
  out += "\n";
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) out += ",";
      out += row[i].number ? exact(*row[i].number) : csv_field(row[i].text);
    }
    out += "\n";
  }
  return out;
}

std::string render_json(const Table& table) {
  using nlohmann::ordered_json;
  ordered_json out;
  out["title"] = printable(table.title);
  out["columns"] = ordered_json::array();
  for (const Column& column : table.columns) {
    out["columns"].push_back({{"key", printable(key(column))},
                              {"header", printable(column.header)},
                              {"unit", printable(column.unit)},
                              {"definition", printable(column.definition)}});
  }
  out["rows"] = ordered_json::array();
  for (const auto& row : table.rows) {
    ordered_json object = ordered_json::object();
    for (std::size_t i = 0; i < row.size(); ++i) {
      object[printable(key(table.columns[i]))] = value_of(row[i]);
    }
    out["rows"].push_back(std::move(object));
  }
  out["notes"] = ordered_json::array();
  for (const std::string& note : table.notes) out["notes"].push_back(printable(note));
  return out.dump(2) + "\n";
}

}  // namespace lockstep::report
