#include "lockstep/import/scan/json_stream.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>

#include "lockstep/import/scan/json_bytes.h"
#include "lockstep/import/scan/plain_number.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kJsonChunk = 128 * 1024;
constexpr std::size_t kLongestText = 64 * 1024;
constexpr std::size_t kDeepest = 512;

bool is_blank_code(int c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

bool is_number_part(int c) {
  return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
}

int hex_value(int c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_code(std::string& out, unsigned code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

}  // namespace

JsonStream::JsonStream(Input& input) : input_(&input), buffer_(kJsonChunk) {
  begin_ = at_ = end_ = buffer_.data();
}

JsonStream::JsonStream(std::string_view text) {
  begin_ = at_ = text.data();
  end_ = at_ + text.size();
}

bool JsonStream::refill() {
  if (input_ == nullptr) return false;
  if (text_.data() >= begin_ && text_.data() < end_) {
    held_ = text_;
    text_ = held_;
  }
  before_ += static_cast<std::uint64_t>(at_ - begin_);
  const std::size_t count = input_->read(buffer_.data(), buffer_.size());
  begin_ = at_ = buffer_.data();
  end_ = at_ + count;
  return count > 0;
}

int JsonStream::peek_byte() {
  if (at_ == end_ && !refill()) return -1;
  return static_cast<unsigned char>(*at_);
}

void JsonStream::skip_blanks() {
  for (;;) {
    while (at_ != end_ && (is_blank_code(*at_) || *at_ == ',')) ++at_;
    if (at_ != end_ || !refill()) return;
  }
}

JsonToken JsonStream::fail(std::string_view what) {
  if (problem_.empty()) problem_ = fmt::format("{} at byte {}", what, offset());
  done_ = true;
  return JsonToken::kEnd;
}

JsonToken JsonStream::next() {
  if (done_) return JsonToken::kEnd;
  skip_blanks();
  const int c = peek_byte();
  if (c < 0) {
    done_ = true;
    if (!open_.empty()) {
      problem_ = fmt::format("ends at byte {} with {} bracket{} open", offset(), open_.size(),
                             open_.size() == 1 ? "" : "s");
    }
    return JsonToken::kEnd;
  }
  if (c == '}' || c == ']') {
    if (open_.empty() || (open_.back() == '{') != (c == '}'))
      return fail("has an extra closing bracket");
    ++at_;
    open_.pop_back();
    expect_key_ = !open_.empty() && open_.back() == '{';
    return c == '}' ? JsonToken::kEndObject : JsonToken::kEndArray;
  }
  if (expect_key_) {
    if (c != '"') return fail("is not JSON: a name is missing");
    const JsonToken key = string_token(true);
    if (key == JsonToken::kEnd) return key;
    skip_blanks();
    if (peek_byte() != ':') return fail("is not JSON: ':' is missing");
    ++at_;
    expect_key_ = false;
    return key;
  }
  return value(c);
}

JsonToken JsonStream::value(int c) {
  const bool in_object = !open_.empty() && open_.back() == '{';
  if (c == '{' || c == '[') {
    if (open_.size() >= kDeepest) return fail("is nested too deeply");
    ++at_;
    open_ += static_cast<char>(c);
    expect_key_ = c == '{';
    return c == '{' ? JsonToken::kBeginObject : JsonToken::kBeginArray;
  }
  expect_key_ = in_object;
  if (c == '"') return string_token(false);
  if (c == '-' || c == '+' || (c >= '0' && c <= '9')) return number_token();
  return word_token();
}

JsonToken JsonStream::string_token(bool key) {
  ++at_;
  const char* stop = quote_or_escape(at_, end_);
  if (stop != end_ && *stop == '"') {
    text_ = std::string_view(at_, static_cast<std::size_t>(stop - at_)).substr(0, kLongestText);
    at_ = stop + 1;
    return key ? JsonToken::kKey : JsonToken::kString;
  }
  // It has escapes, or goes on in the next piece.
  text_ = {};
  held_.clear();
  for (;;) {
    if (at_ == end_ && !refill()) return fail("ends inside a string");
    stop = quote_or_escape(at_, end_);
    held_.append(at_, std::min(static_cast<std::size_t>(stop - at_),
                               kLongestText - std::min(kLongestText, held_.size())));
    at_ = stop;
    if (at_ == end_) continue;
    if (*at_++ == '"') {
      text_ = held_;
      return key ? JsonToken::kKey : JsonToken::kString;
    }
    if (!append_escape()) return fail("ends inside a string");
  }
}

bool JsonStream::append_escape() {
  const int c = peek_byte();
  if (c < 0) return false;
  ++at_;
  if (c != 'u') {
    const char plain = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : static_cast<char>(c);
    if (held_.size() < kLongestText) held_ += plain;
    return true;
  }
  unsigned code = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = hex_value(peek_byte());
    if (digit < 0) return peek_byte() >= 0;  // a broken escape is dropped
    code = code * 16 + static_cast<unsigned>(digit);
    ++at_;
  }
  // Halves of pairs stand for what no log's numbers or names need.
  if (code >= 0xD800 && code < 0xE000) code = 0xFFFD;
  if (held_.size() < kLongestText) append_code(held_, code);
  return true;
}

JsonToken JsonStream::number_token() {
  const char* stop = plain_number(at_, end_, number_);
  if (stop != nullptr && stop != end_ && !is_number_part(*stop)) {
    at_ = stop;
    return JsonToken::kNumber;
  }
  char digits[64];
  std::size_t size = 0;
  for (int c = peek_byte(); c >= 0; c = peek_byte()) {
    if (!is_number_part(c)) break;
    if (size < sizeof(digits)) digits[size++] = static_cast<char>(c);
    ++at_;
  }
  if (peek_byte() == 'I' || peek_byte() == 'N') {  // -Infinity
    word_token();
    number_ = -number_;
    return done_ ? JsonToken::kEnd : JsonToken::kNumber;
  }
  const std::size_t sign = digits[0] == '+' ? 1 : 0;
  const auto result = std::from_chars(digits + sign, digits + size, number_);
  if (result.ec == std::errc::invalid_argument) return fail("contains an invalid number");
  if (result.ec == std::errc::result_out_of_range) number_ = HUGE_VAL;
  return JsonToken::kNumber;
}

JsonToken JsonStream::word_token() {
  char word[16];
  std::size_t size = 0;
  for (int c = peek_byte(); c >= 0; c = peek_byte()) {
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) break;
    if (size < sizeof(word)) word[size++] = static_cast<char>(c);
    ++at_;
  }
  const std::string_view text(word, size);
  number_ = NAN;
  if (text == "true") return JsonToken::kTrue;
  if (text == "false") return JsonToken::kFalse;
  if (text == "null" || text == "None") return JsonToken::kNull;
  if (text == "NaN" || text == "nan") return JsonToken::kNumber;
  if (text == "Infinity" || text == "inf") {
    number_ = HUGE_VAL;
    return JsonToken::kNumber;
  }
  return fail("is not JSON: a value is missing");
}

void JsonStream::skip(JsonToken first) {
  if (first != JsonToken::kBeginObject && first != JsonToken::kBeginArray) return;
  const std::size_t outside = open_.size() - 1;
  while (open_.size() > outside) {
    at_ = quote_or_bracket(at_, end_);
    if (at_ == end_) {
      if (refill()) continue;
      next();  // reports where it ends
      return;
    }
    const char c = *at_;
    if (c == '"') {
      if (!skip_string()) return;
      continue;
    }
    if (c == '{' || c == '[') {
      if (open_.size() >= kDeepest) return static_cast<void>(fail("is nested too deeply"));
      open_ += c;
    } else {
      if ((open_.back() == '{') != (c == '}'))
        return static_cast<void>(fail("has an extra closing bracket"));
      open_.pop_back();
    }
    ++at_;
  }
  expect_key_ = !open_.empty() && open_.back() == '{';
}

bool JsonStream::skip_string() {
  ++at_;
  for (;;) {
    at_ = quote_or_escape(at_, end_);
    if (at_ == end_) {
      if (refill()) continue;
      fail("ends inside a string");
      return false;
    }
    if (*at_++ == '"') return true;
    if (peek_byte() >= 0) ++at_;  // what was escaped
  }
}

bool read_object(JsonStream& json, JsonObject& fields, int deepest) {
  fields.clear();
  const std::size_t outside = json.depth() - 1;
  std::string path;                     // names of the objects that are open, each with a dot
  std::vector<std::size_t> path_sizes;  // of `path` before each of them
  std::string key;
  const auto field = [&](bool is_number, double number, std::string_view text) {
    JsonField& fresh = fields.add();
    fresh.name.assign(path).append(key);
    fresh.is_number = is_number;
    fresh.number = number;
    fresh.text = text;
  };
  while (json.depth() > outside) {
    const JsonToken token = json.next();
    switch (token) {
      case JsonToken::kEnd:
        return false;
      case JsonToken::kKey:
        key = json.text();
        break;
      case JsonToken::kBeginObject:
        if (static_cast<int>(path_sizes.size()) + 1 >= deepest) {
          json.skip(token);
        } else {
          path_sizes.push_back(path.size());
          path.append(key).append(1, '.');
        }
        break;
      case JsonToken::kEndObject:
        if (!path_sizes.empty()) {
          path.resize(path_sizes.back());
          path_sizes.pop_back();
        }
        break;
      case JsonToken::kBeginArray:
        json.skip(token);
        break;
      case JsonToken::kNumber:
        field(true, json.number(), {});
        break;
      case JsonToken::kString:
        field(false, 0, json.text());
        break;
      case JsonToken::kTrue:
      case JsonToken::kFalse:
        field(false, 0, token == JsonToken::kTrue ? "true" : "false");
        break;
      case JsonToken::kNull:
      case JsonToken::kEndArray:
        break;
    }
  }
  return true;
}

}  // namespace lockstep::import
