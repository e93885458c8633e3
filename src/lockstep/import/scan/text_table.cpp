#include "lockstep/import/scan/text_table.h"

#include <algorithm>
#include <cmath>

#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kWidestTable = 64;
constexpr std::size_t kMostTableRows = 10'000;
constexpr std::size_t kMostTables = 1'000;
constexpr std::size_t kLongestTableLine = 2000;
constexpr std::size_t kMostAbove = 8;

/// What stands between the cells of a line.
enum class Cut { kBars, kWideBlanks, kBlanks, kCommas };

using Cells = std::vector<std::string>;

Cells cut_at(std::string_view line, char sign) {
  Cells cells;
  while (cells.size() <= kWidestTable) {
    const std::size_t stop = line.find(sign);
    cells.emplace_back(trim(line.substr(0, stop)));
    if (stop == std::string_view::npos) break;
    line.remove_prefix(stop + 1);
  }
  return cells;
}

Cells cut_at_blanks(std::string_view line, bool wide) {
  Cells cells;
  line = trim(line);
  while (!line.empty() && cells.size() <= kWidestTable) {
    std::size_t end = 0;
    while (end < line.size()) {
      const bool blank = line[end] == ' ' || line[end] == '\t';
      const bool next = end + 1 >= line.size() || line[end + 1] == ' ' || line[end + 1] == '\t';
      if (blank && (!wide || line[end] == '\t' || next)) break;
      ++end;
    }
    cells.emplace_back(trim(line.substr(0, end)));
    line = trim(line.substr(end));
  }
  return cells;
}

Cells cells_of(std::string_view line, Cut cut) {
  if (cut == Cut::kWideBlanks || cut == Cut::kBlanks)
    return cut_at_blanks(line, cut == Cut::kWideBlanks);
  if (cut == Cut::kCommas) return cut_at(line, ',');
  line = trim(line);
  if (line.starts_with('|')) line.remove_prefix(1);
  if (line.ends_with('|')) line.remove_suffix(1);
  return cut_at(line, '|');
}

/// "|---|:--:|", "-----  ----", "+-----+", "=====": what stands between names and lines.
bool is_rule(std::string_view line) {
  line = trim(line);
  return line.size() >= 3 && line.find_first_not_of("-=+|: \t") == std::string_view::npos &&
         line.find_first_of("-=") != std::string_view::npos;
}

bool is_name(std::string_view cell) {
  return std::any_of(cell.begin(), cell.end(), is_letter) && !cell_number(cell);
}

bool names_workers(std::string_view cell) {
  const std::string word = lower(cell);
  for (const std::string_view thing : {"gpu", "worker", "process", "rank", "device", "world"}) {
    if (contains(word, thing)) return true;
  }
  return false;
}

/// "4 GPUs": the count that a column is about.
bool is_count_of_workers(const std::string& cell) {
  const auto count = cell_number(cell);
  return count && names_workers(count->unit);
}

/// Names in all columns but the first, which may have none. Columns may be of several counts.
bool are_names(const Cells& cells) {
  if (cells.size() < 2 || cells.size() > kWidestTable) return false;
  if (!is_name(cells[0]) && !cells[0].empty()) return false;
  const auto counts = std::count_if(cells.begin() + 1, cells.end(), is_count_of_workers);
  const bool beside = counts > 1 && is_name(cells[0]);
  return std::all_of(cells.begin() + 1, cells.end(), [&](const std::string& cell) {
    return is_name(cell) || (beside && is_count_of_workers(cell));
  });
}

/// What stands for a number that is not there.
bool is_gap(const std::string& cell) {
  const std::string word = lower(cell);
  return word.empty() || word == "-" || word == "--" || word == "n/a" || word == "na" ||
         word == "nan" || word == "oom" || word == "\u2013" || word == "\u2014";
}

/// Bars leave no doubt about cells: there two numbers are enough, elsewhere half of the cells.
bool is_row(const Cells& cells, std::size_t columns, Cut cut) {
  if (cells.size() != columns) return false;
  const auto gaps = static_cast<std::size_t>(std::count_if(cells.begin(), cells.end(), is_gap));
  const auto numbers = static_cast<std::size_t>(std::count_if(
      cells.begin(), cells.end(), [](const std::string& cell) { return cell_number(cell); }));
  if (cut == Cut::kBars && numbers > 1) return true;
  return numbers > 0 && 2 * (numbers + gaps) >= columns;
}

/// "GPUs | 1 | 2 | 4" or " | 1 GPU | 2 GPUs": a line of rising counts with or without their name.
bool are_counts(const Cells& cells) {
  if (cells.size() < 3 || cells.size() > kWidestTable) return false;
  if (cells[0].empty() ? !names_workers(cells[1]) : !names_workers(cells[0]) || !is_name(cells[0]))
    return false;
  double last = 0;
  for (std::size_t i = 1; i < cells.size(); ++i) {
    const auto count = cell_number(cells[i]);
    if (!count || !(count->value > last) || count->value != std::floor(count->value)) return false;
    if (!count->unit.empty() && !names_workers(count->unit)) return false;
    last = count->value;
  }
  return true;
}

/// "Epoch time (s) | 40.1 | 21.3 | 11.9": a name and its figures.
bool is_named_row(const Cells& cells, std::size_t columns) {
  return cells.size() == columns && is_name(cells[0]) &&
         std::all_of(cells.begin() + 1, cells.end(),
                     [](const std::string& cell) { return cell_number(cell) || is_gap(cell); });
}

TextTable turned(const TextTable& table) {
  TextTable result{table.line, {}, {}, table.above, false};
  result.columns.push_back(table.columns[0].empty() ? "GPUs" : table.columns[0]);
  for (const TextTable::Row& row : table.rows) result.columns.push_back(row.cells[0]);
  for (std::size_t i = 1; i < table.columns.size(); ++i) {
    TextTable::Row run{table.line, {table.columns[i]}};
    for (const TextTable::Row& row : table.rows) run.cells.push_back(row.cells[i]);
    result.rows.push_back(std::move(run));
  }
  return result;
}

/// Scans line by line; the names are only known by the line below them.
class TableScan {
 public:
  void line(std::string_view text) {
    ++number_;
    if (text.size() > kLongestTableLine) text = {};
    if (open_ && row(text)) return;
    const bool rule = is_rule(text);
    if (rule) return;  // between the names and the lines, or around the table
    if (open_) close();
    if (!names_.empty() && begin(text)) return;
    above(names_);
    names_ = std::string(text);
    names_line_ = number_;
  }

  std::vector<TextTable> result() {
    close();
    return std::move(tables_);
  }

 private:
  bool begin(std::string_view text) {
    if (tables_.size() >= kMostTables) return false;
    const bool bars = names_.find('|') != std::string::npos;
    for (const auto& [names_cut, row_cut] : {std::pair{Cut::kBars, Cut::kBars},
                                             {Cut::kWideBlanks, Cut::kWideBlanks},
                                             {Cut::kWideBlanks, Cut::kBlanks},
                                             {Cut::kBlanks, Cut::kBlanks},
                                             {Cut::kCommas, Cut::kCommas}}) {
      if (bars != (names_cut == Cut::kBars)) continue;
      Cells names = cells_of(names_, names_cut);
      Cells cells = cells_of(text, row_cut);
      sideways_ = are_counts(names) && is_named_row(cells, names.size());
      if (!sideways_ && (!are_names(names) || !is_row(cells, names.size(), row_cut))) continue;
      cut_ = row_cut;
      table_ = TextTable{names_line_, std::move(names), {}, {}, row_cut == Cut::kBars};
      table_.rows.push_back({number_, std::move(cells)});
      table_.above.swap(above_);
      names_.clear();
      open_ = true;
      return true;
    }
    return false;
  }

  bool row(std::string_view text) {
    if (table_.rows.size() >= kMostTableRows) return false;
    Cells cells = cells_of(text, cut_);
    // "| 8 | ERROR |" is a line of the table as well, one without its figure.
    const bool counted =
        cut_ == Cut::kBars && !sideways_ && cells.size() == table_.columns.size() &&
        std::any_of(cells.begin(), cells.end(),
                    [](const std::string& cell) { return cell_number(cell).has_value(); });
    if (counted) {
      table_.rows.push_back({number_, std::move(cells)});
      return true;
    }
    if (sideways_ ? !is_named_row(cells, table_.columns.size())
                  : !is_row(cells, table_.columns.size(), cut_))
      return false;
    table_.rows.push_back({number_, std::move(cells)});
    return true;
  }

  void close() {
    if (open_) tables_.push_back(sideways_ ? turned(table_) : std::move(table_));
    open_ = false;
  }

  void above(const std::string& text) {
    if (trim(text).empty()) return;
    if (above_.size() == kMostAbove) above_.erase(above_.begin());
    above_.push_back(text);
  }

  std::vector<TextTable> tables_;
  TextTable table_;
  std::string names_;  ///< the line above, which may be one of names
  std::vector<std::string> above_;
  std::uint64_t names_line_ = 0;
  std::uint64_t number_ = 0;
  Cut cut_ = Cut::kBars;
  bool open_ = false;
  bool sideways_ = false;  ///< the open one has its names in the first column
};

}  // namespace

std::optional<CellNumber> cell_number(std::string_view cell) {
  cell = trim(cell);
  while (cell.starts_with('*') || cell.starts_with('`') || cell.starts_with('_'))
    cell.remove_prefix(1);
  while (cell.ends_with('*') || cell.ends_with('`') || cell.ends_with('_')) cell.remove_suffix(1);
  for (const std::string_view spread : {"±", "+/-", "+-"}) {
    const std::size_t at = cell.find(spread);
    if (at != std::string_view::npos && at > 0) cell = cell.substr(0, at);
  }
  cell = trim(cell);
  if (cell.empty() || !(is_digit(cell[0]) || cell[0] == '.' || cell[0] == '-' || cell[0] == '+'))
    return std::nullopt;
  std::string_view rest = cell;
  const auto value = take_number(rest);
  if (!value) return std::nullopt;
  rest = trim(rest);
  if (rest.empty()) return CellNumber{*value, {}};
  if (rest == "×") return CellNumber{*value, "x"};
  const bool unit = std::all_of(rest.begin(), rest.end(),
                                [](char c) { return is_letter(c) || c == '%' || c == '/'; });
  if (unit && rest.size() <= 12 && rest != "m") return CellNumber{*value, rest};
  if (const auto seconds = parse_duration(cell)) return CellNumber{*seconds, "s"};
  return std::nullopt;
}

std::vector<TextTable> find_tables(std::string_view text) {
  TableScan scan;
  for_each_line(text, [&](std::string_view line) { scan.line(line); });
  return scan.result();
}

}  // namespace lockstep::import
