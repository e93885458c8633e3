#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/import/scan/line_source.h"

namespace lockstep::import {

/// Reads CSV record by record in fixed memory: quoted fields, doubled quotes, line breaks inside
/// quotes.
class CsvRows {
 public:
  explicit CsvRows(Input& input, char delimiter = ',') : lines_(input), delimiter_(delimiter) {}

  /// Blanks around a field are dropped. The views are valid until the next call. False at the end.
  bool next(std::vector<std::string_view>& fields);

  /// The same for a table of numbers: NaN where a field is empty or has none. Less than half the
  /// cost.
  bool next_numbers(std::vector<double>& values);

  /// Both the fields and their numbers.
  bool next(std::vector<std::string_view>& fields, std::vector<double>& values);

  /// Where the last record ended.
  std::uint64_t line() const { return lines_.number(); }
  const LineSource& lines() const { return lines_; }

 private:
  LineSource lines_;
  bool fields_of(Line& line, std::vector<std::string_view>& fields);

  char delimiter_;
  std::string record_;
  std::vector<std::string_view> fields_;
};

/// What separates the fields of the first line of `text`: ',', ';' or a tab, the most frequent.
char csv_delimiter(std::string_view text);

/// The fields of the first line of `text`.
std::vector<std::string> csv_header(std::string_view text, char delimiter = ',');

}  // namespace lockstep::import
