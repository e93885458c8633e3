#pragma once

#include <cstddef>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

/// CSV as RFC 4180 has it: quoted fields, doubled quotes, line breaks inside quotes, CRLF.
namespace lockstep {

/// Whether a record goes on in the next line, because a quoted field is open.
class CsvQuotes {
 public:
  explicit CsvQuotes(char delimiter) : delimiter_(delimiter) {}

  /// Reads one more line of the record, without its line break.
  bool open_after(std::string_view line);

 private:
  enum class Place { kFieldStart, kPlain, kQuoted, kAfterQuote };

  char delimiter_;
  Place place_ = Place::kFieldStart;
};

/// Cuts one record; `record` is changed in place and must outlive the views. Blanks before a quote
/// are dropped.
void split_csv(std::string& record, char delimiter, std::vector<std::string_view>& fields);

/// Reads one record whose fields are separated by commas. False at the end of the input. `lines`
/// grows by the physical lines that were read. A quote that is never closed ends at the end of the
/// input.
bool read_csv_record(std::istream& in, std::vector<std::string>& fields, std::size_t& lines);

/// The field as CSV needs it: quoted only when it contains a comma, a quote or a line break.
std::string csv_field(std::string_view text);

}  // namespace lockstep
