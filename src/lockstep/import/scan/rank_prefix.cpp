#include "lockstep/import/scan/rank_prefix.h"

#include <charconv>
#include <cstdint>
#include <optional>

#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr int kMostRanks = 1 << 20;

std::optional<int> parse_rank(std::string_view digits) {
  int rank = 0;
  const char* end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, rank);
  if (digits.empty() || result.ec != std::errc() || result.ptr != end) return std::nullopt;
  if (rank < 0 || rank >= kMostRanks) return std::nullopt;
  return rank;
}

/// "[1,3]stdout:" where a page swallowed the angle brackets, "[1,3]sctdout:" where text recognition
/// damaged it: the rank of the latter may be damaged too and is unknown.
RankedText split_damaged_tag(std::string_view line) {
  const RankedText plain{-1, line};
  const std::size_t close = line.find(']');
  const std::size_t colon = line.find(':');
  if (!line.starts_with("[1,") || close == std::string_view::npos || close > 10 ||
      colon == std::string_view::npos || colon < close + 5 || colon > close + 12)
    return plain;
  const std::string_view word = line.substr(close + 1, colon - close - 1);
  const auto rank = parse_rank(line.substr(3, close - 3));
  if (!rank || !(word.ends_with("out") || word.ends_with("err")) ||
      word.find(' ') != std::string_view::npos)
    return plain;
  return {word == "stdout" || word == "stderr" ? *rank : -1, line.substr(colon + 1)};
}

/// "[1,3]<stdout>:" possibly after a time: the rank is before the last bracket.
RankedText split_tagged(std::string_view line) {
  const RankedText plain{-1, line};
  const std::size_t tag = line.substr(0, 120).find("]<std");
  if (tag == std::string_view::npos) return split_damaged_tag(line);
  std::size_t first = tag;
  std::size_t last = tag;
  const std::size_t named = line.substr(0, tag).rfind("rank:");  // "[1,mpirank:0,algo-1]<stdout>:"
  if (named != std::string_view::npos) {
    first = last = named + 5;
    while (last < tag && is_digit(line[last])) ++last;
  } else {
    while (first > 0 && is_digit(line[first - 1])) --first;
  }
  const auto rank = parse_rank(line.substr(first, last - first));
  const std::size_t end = line.find('>', tag);
  if (!rank || end == std::string_view::npos || end > tag + 10) return plain;
  std::string_view rest = line.substr(end + 1);
  if (!rest.empty() && rest[0] == ':') rest.remove_prefix(1);
  return {*rank, rest};
}

RankedText split_named(std::string_view line) {
  const RankedText plain{-1, line};
  if (line.size() < 4 || line[0] != '[') return plain;
  std::string_view rest = line.substr(1);
  bool named = false;
  for (std::string_view word : {"default", "rank", "RANK", "Rank"}) {
    if (!named && rest.starts_with(word)) {
      rest.remove_prefix(word.size());
      named = true;
    }
  }
  if (!named) return plain;
  while (!rest.empty() && (rest[0] == ':' || rest[0] == ' ')) rest.remove_prefix(1);
  const std::size_t close = rest.find(']');
  const auto rank = parse_rank(rest.substr(0, close));
  if (close == std::string_view::npos || !rank) return plain;
  rest.remove_prefix(close + 1);
  if (!rest.empty() && rest[0] == ':') rest.remove_prefix(1);
  if (!rest.empty() && rest[0] == ' ') rest.remove_prefix(1);
  return {*rank, rest};
}

RankedText split_number(std::string_view line) {
  const RankedText plain{-1, line};
  std::size_t i = 0;
  while (i < line.size() && line[i] == ' ') ++i;
  const std::size_t first = i;
  while (i < line.size() && is_digit(line[i])) ++i;
  if (i == first || i - first > 6 || i >= line.size() || line[i] != ':') return plain;
  if (i + 1 < line.size() && line[i + 1] != ' ') return plain;  // "12:30:01" is a time
  const auto rank = parse_rank(line.substr(first, i - first));
  if (!rank) return plain;
  return {*rank, i + 2 <= line.size() ? line.substr(i + 2) : std::string_view()};
}

}  // namespace

RankedText split_rank(std::string_view line, PrefixStyle style) {
  switch (style) {
    case PrefixStyle::kTagged:
      return split_tagged(line);
    case PrefixStyle::kNamed:
      return split_named(line);
    case PrefixStyle::kNumber:
      return split_number(line);
    case PrefixStyle::kNone:
      break;
  }
  return {-1, line};
}

PrefixStyle prefix_style(std::string_view text) {
  int lines = 0;
  int tagged = 0;
  int named = 0;
  int numbered = 0;
  while (!text.empty() && lines < 2000) {
    const std::size_t stop = text.find('\n');
    const std::string_view line = text.substr(0, stop);
    text = stop == std::string_view::npos ? std::string_view() : text.substr(stop + 1);
    if (trim(line).empty()) continue;
    ++lines;
    tagged += split_tagged(line).text.size() < line.size();
    named += split_named(line).rank >= 0;
    numbered += split_number(line).rank >= 0;
  }
  if (tagged > 0) return PrefixStyle::kTagged;
  if (named * 4 >= lines && named > 0) return PrefixStyle::kNamed;
  // A number and a colon alone are weak evidence; nearly every line must have it.
  if (numbered * 10 >= lines * 8 && numbered > 0) return PrefixStyle::kNumber;
  return PrefixStyle::kNone;
}

}  // namespace lockstep::import
