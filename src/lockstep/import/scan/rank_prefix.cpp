#include "lockstep/import/scan/rank_prefix.h"

#include <charconv>
#include <cstdint>
#include <map>
#include <optional>

#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr int kHighestRank = 1 << 20;

std::optional<int> parse_rank(std::string_view digits) {
  int rank = 0;
  const char* end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, rank);
  if (digits.empty() || result.ec != std::errc() || result.ptr != end) return std::nullopt;
  if (rank < 0 || rank >= kHighestRank) return std::nullopt;
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

char lowered(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool starts_with_word(std::string_view text, std::string_view word) {
  if (text.size() < word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (lowered(text[i]) != word[i]) return false;
  }
  return true;
}

/// "rank 3", "GPU3", "local_rank: 1/4": a word for a process, and its number.
struct RankTag {
  int rank = -1;
  int of = 0;
  std::size_t end = 0;
  bool certain = false;  ///< the word means nothing else; "GPU 0: Tesla V100" is a device
};

std::optional<RankTag> tag_at(std::string_view text) {
  for (const std::string_view word : {"rank", "default", "gpu", "global_rank", "local_rank",
                                      "global rank", "local rank", "worker", "process"}) {
    if (!starts_with_word(text, word)) continue;
    std::size_t i = word.size();
    while (i < text.size() &&
           (text[i] == ':' || text[i] == ' ' || text[i] == '=' || text[i] == '#' || text[i] == '_'))
      ++i;
    const std::size_t first = i;
    while (i < text.size() && is_digit(text[i])) ++i;
    const auto rank = parse_rank(text.substr(first, i - first));
    if (!rank) continue;
    RankTag tag{*rank, 0, i, word.ends_with("rank") || word == "default"};
    std::string_view rest = text.substr(i);
    const bool ratio = rest.starts_with('/') || rest.starts_with(" of ");
    if (ratio) {
      rest.remove_prefix(rest[0] == '/' ? 1 : 4);
      std::size_t digits = 0;
      while (digits < rest.size() && is_digit(rest[digits])) ++digits;
      const auto count = parse_rank(rest.substr(0, digits));
      if (!count || *count <= *rank) return std::nullopt;
      tag.of = word.starts_with("local") ? 0 : *count;
      tag.end = text.size() - rest.size() + digits;
    }
    return tag;
  }
  return std::nullopt;
}

bool speaks_of_training(std::string_view text) {
  return contains_any<"poch", "tep ", "ter ", "oss", "step:">(text);
}

/// "[rank3]: ", "(rank 3) ", "Rank 3 - ", "Rank 3: ", "[GPU3] " at the front of `line`.
RankedText split_front_tag(std::string_view line) {
  const RankedText plain{-1, line};
  if (line.empty()) return plain;
  const char open = line[0];
  const bool bracketed = open == '[' || open == '(';
  if (!bracketed && !is_letter(open)) return plain;
  const auto tag = tag_at(bracketed ? line.substr(1) : line);
  if (!tag) return plain;
  std::string_view rest = line.substr(tag->end + (bracketed ? 1 : 0));
  if (bracketed) {
    if (!rest.starts_with(open == '[' ? ']' : ')')) return plain;
    rest.remove_prefix(1);
    if (!rest.empty() && rest[0] == ':') rest.remove_prefix(1);
    if (!rest.empty() && rest[0] == ' ') rest.remove_prefix(1);
  } else {
    const std::size_t mark = rest.find_first_not_of(' ');
    if (mark == std::string_view::npos) return plain;
    const char sign = rest[mark];
    const bool separated = sign == ':' || sign == '-' || sign == '|' || sign == ',' || sign == '>';
    if (!separated && !(mark > 0 && speaks_of_training(rest))) return plain;
    if (separated) rest.remove_prefix(mark + 1);
    while (!rest.empty() && (rest[0] == ' ' || rest[0] == '>')) rest.remove_prefix(1);
  }
  if (!tag->certain && !speaks_of_training(rest)) return plain;
  return {tag->rank, rest, tag->of};
}

/// "Epoch 3 | Rank 1 | loss 0.4", "Epoch 3, rank=1": not "mean rank 4", which is a figure.
RankedText find_inner_tag(std::string_view line) {
  const RankedText plain{-1, line};
  const std::string_view front = line.substr(0, 120);
  if (!contains_any<"ank", "ANK">(front) || !contains(line, "poch")) return plain;
  for (std::size_t at = 1; at + 5 <= front.size(); ++at) {
    if (lowered(front[at]) != 'r' || is_letter(front[at - 1]) || front[at - 1] == '_') continue;
    const auto tag =
        starts_with_word(front.substr(at), "rank") ? tag_at(front.substr(at)) : std::nullopt;
    if (!tag) continue;
    const std::string_view after = line.substr(at + tag->end);
    std::size_t before = at;
    while (before > 0 && line[before - 1] == ' ') --before;
    const std::string_view words = line.substr(0, before);
    const bool named = !words.empty() && is_letter(words.back()) && !words.ends_with(" on") &&
                       !words.ends_with(" from");
    const bool goes_on = !after.empty() && (after[0] == '.' || after[0] == '%' || after[0] == 'e');
    if (named || goes_on) return plain;
    return {tag->rank, line, tag->of};
  }
  return plain;
}

/// Past a time, a date or a level of logging at the front of a line.
std::string_view past_stamp(std::string_view line) {
  for (int parts = 0; parts < 3; ++parts) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first == std::string_view::npos) return line;
    line.remove_prefix(first);
    const bool bracket = line[0] == '[';
    if (!is_digit(line[bracket ? 1 : 0]) && !line.starts_with("INFO")) return line;
    const std::size_t end = line.find(bracket ? ']' : ' ');
    if (end == std::string_view::npos || end > 40) return line;
    const std::string_view stamp = line.substr(0, end);
    if (is_digit(stamp[bracket ? 1 : 0]) && !contains(stamp, ":") && !contains(stamp, "-"))
      return line;
    line.remove_prefix(end + 1);
    if (line.starts_with(" - ")) line.remove_prefix(3);
    if (line.starts_with("- ")) line.remove_prefix(2);
  }
  return line;
}

RankedText split_named(std::string_view line) {
  if (line.size() < 4) return {-1, line};
  if (const RankedText front = split_front_tag(line); front.rank >= 0) return front;
  if (line[0] == ' ' || line[0] == '[' || is_digit(line[0]) || line[0] == 'I') {
    const std::string_view rest = past_stamp(line);
    if (rest.size() < line.size()) {
      if (const RankedText later = split_front_tag(rest); later.rank >= 0) return later;
    }
  }
  return find_inner_tag(line);
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

/// "[3] epoch 1", "(3) epoch 1": the number alone in brackets at the front.
RankedText split_bare(std::string_view line) {
  const RankedText plain{-1, line};
  if (line.size() < 4 || (line[0] != '[' && line[0] != '(')) return plain;
  std::size_t i = 1;
  while (i < line.size() && is_digit(line[i])) ++i;
  if (i == 1 || i > 5 || i >= line.size() || line[i] != (line[0] == '[' ? ']' : ')')) return plain;
  const auto rank = parse_rank(line.substr(1, i - 1));
  if (!rank) return plain;
  std::string_view rest = line.substr(i + 1);
  while (!rest.empty() && (rest[0] == ' ' || rest[0] == ':')) rest.remove_prefix(1);
  return {*rank, rest};
}

/// The number may as well count epochs or steps: it is a rank where two of them, 0 among all, have
/// lines of one epoch.
class BareEvidence {
 public:
  void line(std::string_view line) {
    const RankedText split = split_bare(line);
    if (split.rank < 0 || !starts_with_word(split.text, "epoch")) return;
    std::string_view rest = split.text.substr(5);
    const std::size_t digit = rest.find_first_not_of(" :=[#");
    if (digit == std::string_view::npos || !is_digit(rest[digit])) return;
    rest.remove_prefix(digit);
    const auto epoch = take_number(rest);
    if (!epoch || *epoch > 1e6) return;
    zero_ = zero_ || split.rank == 0;
    const auto [known, first] = ranks_.emplace(static_cast<std::int64_t>(*epoch), split.rank);
    shared_ = shared_ || (!first && known->second != split.rank);
  }
  bool are_ranks() const { return zero_ && shared_; }

 private:
  std::map<std::int64_t, int> ranks_;  ///< the first of each epoch
  bool zero_ = false;
  bool shared_ = false;
};

}  // namespace

RankedText split_rank(std::string_view line, PrefixStyle style) {
  switch (style) {
    case PrefixStyle::kTagged:
      return split_tagged(line);
    case PrefixStyle::kNamed:
      return split_named(line);
    case PrefixStyle::kNumber:
      return split_number(line);
    case PrefixStyle::kBare:
      return split_bare(line);
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
  int epochs = 0;
  int named_epochs = 0;
  BareEvidence bare;
  while (!text.empty() && lines < 2000) {
    const std::size_t stop = text.find('\n');
    const std::string_view line = text.substr(0, stop);
    text = stop == std::string_view::npos ? std::string_view() : text.substr(stop + 1);
    if (trim(line).empty()) continue;
    ++lines;
    tagged += split_tagged(line).text.size() < line.size();
    const bool has_name = split_named(line).rank >= 0;
    named += has_name;
    if (contains(line, "poch ") || contains(line, "poch:")) {
      ++epochs;
      named_epochs += has_name;
    }
    numbered += split_number(line).rank >= 0;
    bare.line(line);
  }
  if (tagged > 0) return PrefixStyle::kTagged;
  if (named * 4 >= lines && named > 0) return PrefixStyle::kNamed;
  if (named_epochs > 1 && named_epochs * 2 >= epochs) return PrefixStyle::kNamed;
  // A number and a colon alone are weak evidence; nearly every line must have it.
  if (numbered * 10 >= lines * 8 && numbered > 0) return PrefixStyle::kNumber;
  if (bare.are_ranks()) return PrefixStyle::kBare;
  return PrefixStyle::kNone;
}

int count_of_ranks(const std::set<int>& seen) {
  const int count = static_cast<int>(seen.size());
  return !seen.empty() && *seen.begin() == 0 && *seen.rbegin() == count - 1 ? count : 0;
}

}  // namespace lockstep::import
