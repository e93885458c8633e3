#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::import {

/// A table that a person or a script wrote into a text: a line of names, then lines with as many
/// cells, apart by bars (Markdown too), blanks, tabs or commas.
struct TextTable {
  struct Row {
    std::uint64_t line = 0;  ///< from 1
    std::vector<std::string> cells;
  };
  std::uint64_t line = 0;  ///< of its names, from 1
  std::vector<std::string> columns;
  std::vector<Row> rows;
  std::vector<std::string>
      above;           ///< the lines between the table before and this one, the last few
  bool drawn = false;  ///< with bars: a blank cell at the front of a line may mean "as above"
};

/// The tables of a text. A line belongs to one only if it has exactly as many cells as there are
/// names and numbers in at least half of them. One whose first line counts workers ("GPUs | 1 | 2 |
/// 4") has its names in the first column: it is turned.
std::vector<TextTable> find_tables(std::string_view text);

/// The number of a cell and the unit behind it: "1,024", "12.3 s", "1.85x", "92%", "**12**",
/// "12.3 ± 0.2". A clock face ("01:23") and a time in parts ("1m 23s") are seconds.
struct CellNumber {
  double value = 0;
  std::string_view unit;
};

std::optional<CellNumber> cell_number(std::string_view cell);

}  // namespace lockstep::import
