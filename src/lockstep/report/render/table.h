#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::report {

enum class Align { kLeft, kRight };

/// One value of a table. `text` is what a person reads; `number` is the value behind it, which CSV
/// and JSON carry unrounded. A cell with neither is unknown: "-" to a person, empty in CSV, null in
/// JSON.
struct Cell {
  Cell() = default;
  Cell(std::string shown) : text(std::move(shown)) {}
  Cell(const char* shown) : text(shown) {}
  Cell(std::string shown, double value) : text(std::move(shown)), number(value) {}

  bool unknown() const { return text.empty() && !number; }

  std::string text;
  std::optional<double> number;
};

/// Fixed decimals; unknown when the value is not finite.
Cell decimal(double value, int decimals);
/// Three significant digits, never an exponent below a million; unknown when not finite.
Cell significant(double value);
/// "2 min 05 s"; unknown when not finite.
Cell duration(double seconds);
/// A whole number, digits grouped for people: 50,000.
Cell count(std::int64_t value);
Cell count(const std::optional<std::int64_t>& value);
/// A batch per worker, which may be a fraction.
Cell batch_cell(const std::optional<double>& value);

struct Column {
  std::string header{};  ///< for people: "epoch time"
  std::string unit{};    ///< shown beside the header; empty for pure numbers
  std::string key{};     ///< for CSV and JSON, unit as suffix: "epoch_time_s"
  Align align = Align::kRight;
  std::string definition{};  ///< one sentence; empty if the header is enough
};

/// What every output format is made of. Each row has one cell a column.
struct Table {
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  std::vector<std::string> notes;  ///< sentences below the table
  /// Leading columns that name a row; those that tell the rows apart are repeated when a terminal
  /// is too narrow for all columns at once.
  std::size_t label_columns = 1;
};

enum class Format { kText, kMarkdown, kCsv, kJson, kLatex };

/// "text", "markdown" (or "md"), "csv", "json", "latex" (or "tex"); throws kUsage for others.
Format format_from_name(std::string_view name);

struct RenderOptions {
  /// Columns of the terminal, for text; 0 = unlimited.
  std::size_t width = 0;
  /// Print the definitions of the columns below the table (text, Markdown, LaTeX; JSON has them
  /// always).
  bool definitions = false;
};

/// The table as text that ends with a line break. Throws kInternal when a row has not one cell a
/// column. CSV has a header line of keys and the rows, nothing else.
std::string render(const Table& table, Format format, const RenderOptions& options = {});

}  // namespace lockstep::report
