#pragma once

#include <istream>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// Reads one record of RFC 4180 CSV: quoted fields, doubled quotes, line breaks inside quotes,
/// CRLF. False at the end of the input. `lines` grows by the physical lines that were read. A quote
/// that is never closed ends at the end of the input.
bool read_csv_record(std::istream& in, std::vector<std::string>& fields, std::size_t& lines);

/// The field as CSV needs it: quoted only when it holds a comma, a quote or a line break.
std::string csv_field(std::string_view text);

}  // namespace lockstep
