#include "lockstep/import/readers/tables/side_by_side.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "lockstep/import/model/measurement_units.h"
#include "lockstep/import/readers/tables/table_cells.h"
#include "lockstep/import/readers/tables/table_columns.h"
#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

/// The unit that all figures of the columns have; nothing where one differs or is no number.
std::optional<std::string> unit_of_cells(const TextTable& table,
                                         const std::vector<std::size_t>& counts) {
  std::optional<std::string> unit;
  for (const TextTable::Row& row : table.rows) {
    for (const std::size_t i : counts) {
      const auto number = cell_number(row.cells[i]);
      const bool none = row.cells[i].empty() || row.cells[i] == "-" || row.cells[i] == "OOM";
      if (none) continue;
      if (!number) return std::nullopt;
      const std::string own = lower(number->unit);
      if (unit && *unit != own) return std::nullopt;
      unit = own;
    }
  }
  return unit;
}

/// The header that the figure would have in a column of its own; empty where it is not stated.
std::string header_of_figure(const TextTable& table, const std::string& corner,
                             const std::string& unit) {
  const std::string words = lower((table.above.empty() ? "" : table.above.back()) + " " + corner);
  if (contains_any<"speedup", "speed-up", "speed up", "efficiency", "loss", "accura", "memory">(
          words))
    return {};
  if (contains(unit, "/s")) return "throughput (" + unit + ")";
  const bool timed = !unit.empty() && unit_factor(Quantity::kTime, unit).has_value();
  if (timed || contains(words, "time")) {
    const std::string of = contains(words, "epoch")                   ? "epoch time"
                           : contains_any<"step", "iteration">(words) ? "step time"
                           : contains_any<"total", "overall">(words)  ? "total time"
                                                                      : "time";
    for (const std::string_view stated : {"(s)", "(ms)", "(min)", "(sec)", "(seconds)"}) {
      if (unit.empty() && contains(words, stated)) return of + " " + std::string(stated);
    }
    return of;
  }
  for (const std::string_view rate : {"img/s", "images/s", "images/sec", "samples/s", "samples/sec",
                                      "imgs/sec", "img/sec", "images per second"}) {
    if (unit.empty() && contains(words, rate)) return "throughput (" + std::string(rate) + ")";
  }
  return {};
}

}  // namespace

std::optional<TextTable> below_each_other(const TextTable& table) {
  std::vector<std::size_t> counts;
  std::set<std::int64_t> distinct;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (!says_gpus(table.columns[i])) continue;
    counts.push_back(i);
    distinct.insert(*count_in_cell(table.columns[i]));
  }
  if (counts.size() < 2 || distinct.size() != counts.size() || counts.front() == 0)
    return std::nullopt;
  const auto unit = unit_of_cells(table, counts);
  if (!unit) return std::nullopt;
  const std::string figure = header_of_figure(table, table.columns.front(), *unit);
  if (figure.empty()) return std::nullopt;
  TextTable result;
  result.line = table.line;
  result.above = table.above;
  for (std::size_t i = 0; i < counts.front(); ++i) result.columns.push_back(table.columns[i]);
  result.columns.emplace_back("GPUs");
  result.columns.push_back(figure);
  for (const TextTable::Row& row : table.rows) {
    for (const std::size_t i : counts) {
      TextTable::Row single{row.line, {}};
      for (std::size_t k = 0; k < counts.front(); ++k) single.cells.push_back(row.cells[k]);
      single.cells.push_back(std::to_string(*count_in_cell(table.columns[i])));
      single.cells.push_back(row.cells[i]);
      result.rows.push_back(std::move(single));
    }
  }
  return result;
}

}  // namespace lockstep::import
