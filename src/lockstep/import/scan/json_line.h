#pragma once

#include <cstdint>
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
  std::string_view raw;  ///< a text without its quotes, anything else unchanged
  bool is_text = false;  ///< a text, true or false

  /// Nothing for texts. NaN and Infinity are numbers, as Python writes them.
  std::optional<double> number() const;
  bool is(std::string_view outside, std::string_view inside) const {
    return name == inside && outer == outside;
  }
};

/// A JSON object on one line. Values are found, not decoded, so that a reader pays only
/// for those it asks for: JSON lines come by the million, and mostly with the same names in the
/// same places, so what is between two values is compared with the line before and not read
/// again. Nulls and arrays are left out, and objects deeper than one inside another.
class JsonLine {
 public:
  /// `text` must outlive the fields, which are valid until the next call. False when it is no whole
  /// object; text after it is ignored.
  bool parse(std::string_view text);

  const std::vector<JsonLineField>& fields() const { return fields_; }

 private:
  /// What led to a value in the last line, and what it meant.
  struct Lead {
    std::string text;
    std::string outer;
    std::string name;
    bool inside = false;  ///< an object in the object
  };

  bool skip_blanks(bool commas);
  bool take_text(std::string_view& text);
  bool take_value(std::string_view outer, std::string_view name);
  std::size_t take_known();
  bool take_others(std::size_t known);
  void learn(std::size_t place, const char* from, std::string_view outer, std::string_view name,
             bool inside);

  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::vector<JsonLineField> fields_;
  std::deque<std::string> decoded_;  ///< texts that had escapes
  std::deque<Lead> leads_;           ///< stay where they are: fields point into them
  std::uint64_t alike_ = 0;          ///< lines that were as the one before
  std::uint64_t unlike_ = 0;
};

}  // namespace lockstep::import
