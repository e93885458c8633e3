#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lockstep/base/text/duration.h"
#include "lockstep/base/text/text.h"
#include "lockstep/import/scan/plain_number.h"

namespace lockstep::import {

std::string lower(std::string_view text);

/// Where `part` begins in `text`, npos without. Compares 16 places at once, where string_view::find
/// stops at each place that has the part's first letter.
std::size_t position_of(std::string_view part, std::string_view text);

inline bool contains(std::string_view text, std::string_view part) {
  return position_of(part, text) != std::string_view::npos;
}

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// What is left of take_number(): "nan", "inf", thousands, and more digits than a double has.
std::optional<double> take_rare_number(std::string_view& text);

/// Past the number at `at`, blanks before it; null when there is none. For inner loops;
/// take_number() defines what a number is.
inline const char* past_number(const char* at, const char* end, double& value) {
  while (at != end && (*at == ' ' || *at == '\t')) ++at;
  if (at == end) return nullptr;
  const char* stop = plain_number(at, end, value);
  const bool grouped = stop != nullptr && end - stop > 1 && *stop == ',' && is_digit(stop[1]);
  if (stop != nullptr && !grouped) return stop;
  std::string_view rest(at, static_cast<std::size_t>(end - at));
  const auto rare = take_rare_number(rest);
  if (!rare) return nullptr;
  value = *rare;
  return rest.data();
}

/// Takes a number from the front of `text`, after blanks: sign, decimals, exponent, "nan", "inf",
/// thousands separated by commas ("1,234.5"). Nothing, and `text` unchanged, when there is none.
inline std::optional<double> take_number(std::string_view& text) {
  const char* end = text.data() + text.size();
  double value = 0;
  const char* stop = past_number(text.data(), end, value);
  if (stop == nullptr) return std::nullopt;
  text = std::string_view(stop, static_cast<std::size_t>(end - stop));
  return value;
}

/// The whole of `text`, blanks aside, as a number.
std::optional<double> parse_number(std::string_view text);
std::optional<std::int64_t> parse_integer(std::string_view text);

/// The number that follows `mark`, blanks and any of ":=('[" between them.
std::optional<double> number_after(std::string_view text, std::string_view mark);
std::optional<std::int64_t> integer_after(std::string_view text, std::string_view mark);

/// The seconds of "1 hour, 19 minutes and 54.41 seconds" at the front of `text`.
std::optional<double> spelt_seconds(std::string_view text);

/// Nanoseconds since 1970 of "2021-05-25 22:30:04,196", "2021-05-25T22:30:04.196Z" and the like,
/// taken as UTC where the text has no offset. The text may go on after the time.
std::optional<std::int64_t> parse_wall_time(std::string_view text);

/// A name or a sentence of a log, fit for messages and labels: not longer than they may be.
inline std::string printable(std::string_view text, std::size_t longest = 80) {
  return lockstep::printable(text, longest);
}

/// Calls use(line) for every line of the text, without its line break.
template <class Use>
void for_each_line(std::string_view text, const Use& use) {
  while (!text.empty()) {
    const std::size_t stop = text.find('\n');
    use(text.substr(0, stop));
    text = stop == std::string_view::npos ? std::string_view() : text.substr(stop + 1);
  }
}

}  // namespace lockstep::import
