#include "lockstep/base/csv.h"

namespace lockstep {

bool read_csv_record(std::istream& in, std::vector<std::string>& fields, std::size_t& lines) {
  fields.clear();
  std::string field;
  bool any = false;
  bool quoted = false;
  for (int c = in.get(); c != std::istream::traits_type::eof(); c = in.get()) {
    any = true;
    if (quoted) {
      if (c == '"' && in.peek() == '"') {
        field += static_cast<char>(in.get());
      } else if (c == '"') {
        quoted = false;
      } else {
        if (c == '\n') ++lines;
        field += static_cast<char>(c);
      }
    } else if (c == '"' && field.empty()) {
      quoted = true;
    } else if (c == ',') {
      fields.push_back(std::move(field));
      field.clear();
    } else if (c == '\n') {
      break;
    } else if (c != '\r' || in.peek() != '\n') {
      field += static_cast<char>(c);
    }
  }
  if (!any) return false;
  ++lines;
  fields.push_back(std::move(field));
  return true;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace lockstep
