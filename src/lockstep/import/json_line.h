#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::import {

/// One value of a JSON object.
struct JsonLineField {
  std::string_view outer;  ///< the object it is nested in, "" for none
  std::string_view name;
  std::string_view raw;  ///< a text without its quotes, anything else as it stands
  bool is_text = false;  ///< a text, true or false

  /// Nothing for texts. NaN and Infinity are numbers, as Python writes them.
  std::optional<double> number() const;
  bool is(std::string_view outside, std::string_view inside) const {
    return name == inside && outer == outside;
  }
};

/// A JSON object that stands on one line. Values are found, not decoded, so that a reader pays only
/// for those it asks for: JSON lines come by the million. Nulls and arrays are left out, and
/// objects deeper than one inside another.
class JsonLine {
 public:
  /// `text` must outlive the fields. False when it is no whole object; text after it is ignored.
  bool parse(std::string_view text);

  const std::vector<JsonLineField>& fields() const { return fields_; }

 private:
  bool take_text(std::string_view& text);
  void put(std::string_view outer, std::string_view name, std::string_view raw, bool is_text);

  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::vector<JsonLineField> fields_;
  std::deque<std::string> decoded_;  ///< texts that had escapes
};

}  // namespace lockstep::import
