#include "lockstep/import/scan/tqdm_bar.h"

#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kLongestTime = 16;

/// The number whose last digit is before `end`; `end` moves to its first.
std::optional<std::int64_t> number_before(std::string_view text, std::size_t& end) {
  std::size_t begin = end;
  while (begin > 0 && is_digit(text[begin - 1])) --begin;
  const auto value = parse_integer(text.substr(begin, end - begin));
  if (value) end = begin;
  return value;
}

/// Where the bracket at `open` is closed; the end of the text where it is not.
std::size_t closing_bracket(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    if (depth == 0) return i;
  }
  return text.size();
}

}  // namespace

std::optional<TqdmBar> find_tqdm_bar(std::string_view text) {
  // "[00:10<00:12, ": the one thing in a bar that nothing else has.
  const std::size_t less = text.rfind('<');
  if (less == std::string_view::npos || less == 0 || !is_digit(text[less - 1])) return std::nullopt;
  const std::size_t open = text.rfind('[', less);
  if (open == std::string_view::npos || less - open > kLongestTime) return std::nullopt;
  const auto elapsed = parse_duration(text.substr(open + 1, less - open - 1));
  std::size_t at = open;
  while (at > 0 && text[at - 1] == ' ') --at;
  const auto of = number_before(text, at);
  if (!elapsed || !of || at == 0 || text[at - 1] != '/') return std::nullopt;
  --at;
  const auto done = number_before(text, at);
  if (!done) return std::nullopt;
  TqdmBar bar{text.substr(0, at), *done, *of, *elapsed, {}, {}};
  const std::size_t percent = bar.label.rfind('%');
  if (percent == std::string_view::npos) return std::nullopt;
  std::size_t first = percent;
  number_before(text, first);
  bar.label = trim(text.substr(0, first));
  const std::size_t close = closing_bracket(text, open);
  if (close < text.size()) bar.rest = text.substr(close + 1);
  text = text.substr(0, close);
  // After "00:12, 9.50it/s" come the figures.
  const std::size_t remaining = text.find(',', less);
  const std::size_t rate =
      remaining == std::string_view::npos ? remaining : text.find(',', remaining + 1);
  if (rate != std::string_view::npos) {
    bar.figures = trim(text.substr(rate + 1));
  }
  return bar;
}

}  // namespace lockstep::import
