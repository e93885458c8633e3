#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/import/scan/input.h"

namespace lockstep::import {

/// What comes next in a JSON text.
enum class JsonToken {
  kBeginObject,
  kEndObject,
  kBeginArray,
  kEndArray,
  kKey,
  kString,
  kNumber,
  kTrue,
  kFalse,
  kNull,
  kEnd,  ///< the text is over, or cannot be read further: see problem()
};

/// Reads JSON of any size piece by piece, in fixed memory. Lenient where writers of logs are not
/// strict: arrays and objects never closed, commas too many, NaN and Infinity, text cut off.
class JsonStream {
 public:
  /// The stream takes all bytes of `input`.
  explicit JsonStream(Input& input);
  /// `text` must outlive the stream.
  explicit JsonStream(std::string_view text);

  JsonToken next();

  /// Of the last kKey or kString, unescaped; valid until the next call. Cut to 64 KiB.
  std::string_view text() const { return text_; }
  /// Of the last kNumber.
  double number() const { return number_; }
  /// Open objects and arrays.
  std::size_t depth() const { return open_.size(); }

  /// Skips the value whose first token was given last: the rest of an object or array, nothing for
  /// others. Looks at brackets and texts alone.
  void skip(JsonToken first);

  /// Bytes read so far.
  std::uint64_t offset() const { return before_ + static_cast<std::uint64_t>(at_ - begin_); }
  /// Why the text ended early: "ends inside a string at byte 123"; empty at a proper end.
  const std::string& problem() const { return problem_; }

 private:
  bool refill();
  int peek_byte();
  void skip_blanks();
  JsonToken value(int c);
  JsonToken string_token(bool key);
  bool skip_string();
  JsonToken number_token();
  JsonToken word_token();
  bool append_escape();
  JsonToken fail(std::string_view what);

  Input* input_ = nullptr;
  std::vector<char> buffer_;
  const char* begin_ = nullptr;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::uint64_t before_ = 0;  ///< bytes of earlier buffers
  std::string open_;          ///< '{' and '[' that are open
  bool expect_key_ = false;
  std::string_view text_;  ///< of the buffer, or of `held_`
  std::string held_;       ///< a text that had escapes or came in pieces
  double number_ = 0;
  std::string problem_;
  bool done_ = false;
};

/// The numbers and texts of one JSON object, nested ones by "outer.inner" names.
struct JsonField {
  std::string name;
  bool is_number = false;
  double number = 0;
  std::string text;
};

/// The fields of an object. Reused for the next one, it allocates nothing.
class JsonObject {
 public:
  const JsonField* begin() const { return fields_.data(); }
  const JsonField* end() const { return fields_.data() + count_; }
  void clear() { count_ = 0; }
  JsonField& add() {
    if (count_ == fields_.size()) fields_.emplace_back();
    return fields_[count_++];
  }

 private:
  std::vector<JsonField> fields_;
  std::size_t count_ = 0;
};

/// Reads the rest of an object whose kBeginObject was given last. Arrays are skipped, as is what
/// lies deeper than `deepest` objects. `fields` is reused. False when the text ended inside.
bool read_object(JsonStream& json, JsonObject& fields, int deepest = 2);

}  // namespace lockstep::import
