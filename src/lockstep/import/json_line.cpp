#include "lockstep/import/json_line.h"

#include <cmath>

#include "lockstep/import/json_stream.h"
#include "lockstep/import/text_scan.h"

namespace lockstep::import {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/// Past the array or object that begins at `at`; null when it does not end.
const char* past_nested(const char* at, const char* end) {
  std::size_t depth = 0;
  for (; at != end; ++at) {
    if (*at == '"') {
      for (++at; at != end && *at != '"'; ++at) {
        if (*at == '\\' && ++at == end) return nullptr;
      }
      if (at == end) return nullptr;
    } else if (*at == '[' || *at == '{') {
      ++depth;
    } else if ((*at == ']' || *at == '}') && --depth == 0) {
      return at + 1;
    }
  }
  return nullptr;
}

}  // namespace

std::optional<double> JsonLineField::number() const {
  if (is_text || raw.empty()) return std::nullopt;
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
  while (at_ != end_ && *at_ != '"') {
    if (*at_ == '\\') {
      escaped = true;
      if (++at_ == end_) return false;
    }
    ++at_;
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

void JsonLine::put(std::string_view outer, std::string_view name, std::string_view raw,
                   bool is_text) {
  if (!is_text && is_letter(raw[0])) {
    if (raw == "null") return;
    is_text = raw == "true" || raw == "false";
  }
  fields_.push_back({outer, name, raw, is_text});
}

bool JsonLine::parse(std::string_view text) {
  fields_.clear();
  decoded_.clear();
  at_ = text.data();
  end_ = at_ + text.size();
  std::string_view outer;
  bool inside = false;
  const auto skip = [this](bool commas) {
    while (at_ != end_ && (is_blank(*at_) || (commas && *at_ == ','))) ++at_;
    return at_ != end_;
  };
  if (!skip(false) || *at_ != '{') return false;
  ++at_;
  while (skip(true)) {
    if (*at_ == '}') {
      ++at_;
      if (!inside) return true;
      inside = false;
      outer = {};
      continue;
    }
    std::string_view name;
    if (*at_ != '"' || !take_text(name) || !skip(false) || *at_ != ':') return false;
    ++at_;
    if (!skip(false)) return false;
    if (*at_ == '"') {
      std::string_view value;
      if (!take_text(value)) return false;
      put(outer, name, value, true);
    } else if (*at_ == '{' && !inside) {
      ++at_;
      inside = true;
      outer = name;
    } else if (*at_ == '{' || *at_ == '[') {
      at_ = past_nested(at_, end_);
      if (at_ == nullptr) return false;
    } else {
      const char* begin = at_;
      while (at_ != end_ && *at_ != ',' && *at_ != '}' && *at_ != ']' && !is_blank(*at_)) ++at_;
      if (at_ == begin) return false;
      put(outer, name, std::string_view(begin, static_cast<std::size_t>(at_ - begin)), false);
    }
  }
  return false;
}

}  // namespace lockstep::import
