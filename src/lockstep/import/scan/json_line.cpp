#include "lockstep/import/scan/json_line.h"

#include <cmath>
#include <cstring>

#include "lockstep/import/scan/json_bytes.h"
#include "lockstep/import/scan/json_stream.h"
#include "lockstep/import/scan/plain_number.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/// Past the array or object that begins at `at`; null when it does not end.
const char* past_nested(const char* at, const char* end) {
  std::size_t depth = 0;
  for (at = quote_or_bracket(at, end); at != end; at = quote_or_bracket(at + 1, end)) {
    if (*at == '"') {
      for (at = quote_or_escape(at + 1, end); at != end && *at == '\\';
           at = quote_or_escape(at + 2, end)) {
        if (end - at < 2) return nullptr;
      }
      if (at == end) return nullptr;
    } else if (*at == '[' || *at == '{') {
      ++depth;
    } else if (--depth == 0) {
      return at + 1;
    }
  }
  return nullptr;
}

}  // namespace

std::optional<double> JsonLineField::number() const {
  if (is_text || raw.empty()) return std::nullopt;
  double plain = 0;
  if (plain_number(raw.data(), raw.data() + raw.size(), plain) == raw.data() + raw.size())
    return plain;
  if (is_digit(raw[0]) || (raw[0] == '-' && raw.size() > 1 && is_digit(raw[1]))) {
    std::string_view rest = raw;
    const auto value = take_number(rest);
    return rest.empty() ? value : std::nullopt;
  }
  if (raw == "NaN" || raw == "nan") return std::nan("");
  if (raw == "Infinity" || raw == "inf") return HUGE_VAL;
  if (raw == "-Infinity" || raw == "-inf") return -HUGE_VAL;
  return std::nullopt;
}

bool JsonLine::take_text(std::string_view& text) {
  const char* begin = ++at_;
  bool escaped = false;
  for (at_ = quote_or_escape(at_, end_); at_ != end_ && *at_ != '"';
       at_ = quote_or_escape(at_, end_)) {
    escaped = true;
    if (end_ - at_ < 2) return false;
    at_ += 2;
  }
  if (at_ == end_) return false;
  text = std::string_view(begin, static_cast<std::size_t>(at_ - begin));
  ++at_;
  if (escaped) {
    JsonStream one(std::string_view(begin - 1, text.size() + 2));
    one.next();
    text = decoded_.emplace_back(one.text());
  }
  return true;
}

bool JsonLine::skip_blanks(bool commas) {
  while (at_ != end_ && (is_blank(*at_) || (commas && *at_ == ','))) ++at_;
  return at_ != end_;
}

/// A text, a number or a word; nulls are dropped. False when there is none, or it does not end.
bool JsonLine::take_value(std::string_view outer, std::string_view name) {
  if (*at_ == '"') {
    std::string_view text;
    if (!take_text(text)) return false;
    fields_.push_back({outer, name, text, true});
    return true;
  }
  const char* begin = at_;
  while (at_ != end_ && *at_ != ',' && *at_ != '}' && *at_ != ']' && !is_blank(*at_)) ++at_;
  if (at_ == begin) return false;
  const std::string_view raw(begin, static_cast<std::size_t>(at_ - begin));
  bool is_text = false;
  if (is_letter(raw[0])) {
    if (raw == "null") return true;
    is_text = raw == "true" || raw == "false";
  }
  fields_.push_back({outer, name, raw, is_text});
  return true;
}

/// As many values as are in the same place as in the line before.
std::size_t JsonLine::take_known() {
  std::size_t known = 0;
  for (const Lead& lead : leads_) {
    const std::size_t size = lead.text.size();
    if (static_cast<std::size_t>(end_ - at_) <= size ||
        std::memcmp(at_, lead.text.data(), size) != 0 || at_[size] == '{' || at_[size] == '[') {
      break;
    }
    const char* before = at_;
    at_ += size;
    if (!take_value(lead.outer, lead.name)) {
      at_ = before;
      break;
    }
    ++known;
  }
  return known;
}

void JsonLine::learn(std::size_t place, const char* from, std::string_view outer,
                     std::string_view name, bool inside) {
  if (place == leads_.size()) leads_.emplace_back();
  Lead& lead = leads_[place];
  lead.text.assign(from, at_);
  lead.outer = outer;
  lead.name = name;
  lead.inside = inside;
}

bool JsonLine::take_others(std::size_t known) {
  const bool learns = unlike_ < 64 || unlike_ < alike_;
  const char* from = at_;  // the end of the value before
  bool inside = known > 0 && leads_[known - 1].inside;
  std::string_view outer = known > 0 ? std::string_view(leads_[known - 1].outer) : "";
  if (known == 0) {
    if (!skip_blanks(false) || *at_ != '{') return false;
    ++at_;
  }
  while (skip_blanks(true)) {
    if (*at_ == '}') {
      ++at_;
      if (!inside) {
        if (learns) leads_.resize(known);
        return true;
      }
      inside = false;
      outer = {};
      continue;
    }
    std::string_view name;
    if (*at_ != '"' || !take_text(name) || !skip_blanks(false) || *at_ != ':') return false;
    ++at_;
    if (!skip_blanks(false)) return false;
    if (*at_ == '{' && !inside) {
      ++at_;
      inside = true;
      outer = name;
    } else if (*at_ == '{' || *at_ == '[') {
      at_ = past_nested(at_, end_);
      if (at_ == nullptr) return false;
    } else {
      if (learns) learn(known++, from, outer, name, inside);
      if (!take_value(outer, name)) return false;
      from = at_;
    }
  }
  return false;
}

bool JsonLine::parse(std::string_view text) {
  fields_.clear();
  decoded_.clear();
  at_ = text.data();
  end_ = at_ + text.size();
  const std::size_t known = take_known();
  ++(known > 0 && known == leads_.size() ? alike_ : unlike_);
  return take_others(known);
}

}  // namespace lockstep::import
