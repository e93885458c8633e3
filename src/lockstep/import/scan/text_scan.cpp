#include "lockstep/import/scan/text_scan.h"

#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace lockstep::import {
namespace {

/// "1,234,567": groups of three after the first comma. Gives the length, 0 when it is not that.
std::size_t grouped_length(std::string_view text) {
  std::size_t i = 0;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
  const std::size_t first = i;
  while (i < text.size() && is_digit(text[i])) ++i;
  if (i == first || i - first > 3 || text[first] == '0') return 0;
  std::size_t groups = 0;
  while (i + 3 < text.size() && text[i] == ',' && is_digit(text[i + 1]) && is_digit(text[i + 2]) &&
         is_digit(text[i + 3]) && (i + 4 == text.size() || !is_digit(text[i + 4]))) {
    i += 4;
    ++groups;
  }
  return groups == 0 ? 0 : i;
}

/// A number with thousands separated, whose grouped_length() is above 0.
std::optional<double> take_grouped(std::string_view rest, std::string_view& text) {
  std::size_t end = grouped_length(rest);
  std::string plain;
  for (char c : rest.substr(0, end)) {
    if (c != ',' && c != '+') plain += c;
  }
  while (end < rest.size() && (is_digit(rest[end]) || rest[end] == '.')) plain += rest[end++];
  double value = 0;
  const auto result = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (result.ec != std::errc()) return std::nullopt;
  text = rest.substr(end);
  return value;
}

std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  if (text.size() < at + count) return std::nullopt;
  int value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (!is_digit(text[i])) return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

}  // namespace

std::size_t position_of(std::string_view part, std::string_view text) {
  const std::size_t size = part.size();
  if (size < 2 || text.size() < size) return text.find(part);
  std::size_t at = 0;
#ifdef __SSE2__
  // Places where the first and the last byte fit are few; only those are compared whole.
  const __m128i first = _mm_set1_epi8(part.front());
  const __m128i last = _mm_set1_epi8(part.back());
  for (; at + size - 1 + 16 <= text.size(); at += 16) {
    const auto load = [&](std::size_t i) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + i));
    };
    const __m128i fits =
        _mm_and_si128(_mm_cmpeq_epi8(first, load(at)), _mm_cmpeq_epi8(last, load(at + size - 1)));
    for (auto mask = static_cast<unsigned>(_mm_movemask_epi8(fits)); mask != 0; mask &= mask - 1) {
      const std::size_t place = at + static_cast<std::size_t>(std::countr_zero(mask));
      if (std::memcmp(text.data() + place + 1, part.data() + 1, size - 2) == 0) return place;
    }
  }
#endif
  const std::size_t found = text.substr(at).find(part);
  return found == std::string_view::npos ? found : at + found;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::optional<double> take_rare_number(std::string_view& text) {
  const char* at = text.data();
  const char* end = at + text.size();
  while (at != end && (*at == ' ' || *at == '\t')) ++at;
  if (at == end) return std::nullopt;
  double value = 0;
  const char* stop = plain_number(at, end, value);
  if (stop == nullptr) {
    const char* begin = at + (*at == '+' ? 1 : 0);
    const auto result = std::from_chars(begin, end, value);
    if (result.ec == std::errc::invalid_argument) return std::nullopt;
    if (result.ec == std::errc::result_out_of_range) value = HUGE_VAL;
    stop = result.ptr;
    // "information" is no infinity.
    if (stop != end && !std::isfinite(value) && is_letter(*stop)) return std::nullopt;
  }
  if (stop != end && *stop == ',') {
    const std::string_view rest(at, static_cast<std::size_t>(end - at));
    if (grouped_length(rest) > 0) return take_grouped(rest, text);
  }
  text = std::string_view(stop, static_cast<std::size_t>(end - stop));
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  text = trim(text);
  const auto value = take_number(text);
  if (!value || !text.empty()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  const auto value = parse_number(text);
  if (!value || std::abs(*value) > 9e15 || std::floor(*value) != *value) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::optional<double> number_after(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + mark.size());
  const std::size_t first = text.find_first_not_of(" \t:=('[\"");
  if (first == std::string_view::npos) return std::nullopt;
  text.remove_prefix(first);
  return take_number(text);
}

std::optional<double> spelt_seconds(std::string_view text) {
  double total = 0;
  bool any = false;
  while (const auto value = take_number(text)) {
    text = trim(text);
    const double scale = text.starts_with("hour")     ? 3600
                         : text.starts_with("minute") ? 60
                         : text.starts_with("second") ? 1
                                                      : 0;
    if (scale == 0 || !(*value >= 0)) return std::nullopt;
    total += *value * scale;
    any = true;
    std::size_t letters = 0;
    while (letters < text.size() && is_letter(text[letters])) ++letters;
    text = trim(text.substr(letters));
    if (text.starts_with(", ")) text.remove_prefix(2);
    if (text.starts_with("and ")) text.remove_prefix(4);
  }
  return any && total > 0 ? std::optional<double>(total) : std::nullopt;
}

std::optional<std::int64_t> integer_after(std::string_view text, std::string_view mark) {
  const auto value = number_after(text, mark);
  if (!value || std::abs(*value) > 9e15 || std::floor(*value) != *value) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::optional<std::int64_t> parse_wall_time(std::string_view text) {
  const auto year = digits(text, 0, 4);
  const auto month = digits(text, 5, 2);
  const auto day = digits(text, 8, 2);
  const auto hour = digits(text, 11, 2);
  const auto minute = digits(text, 14, 2);
  const auto second = digits(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  if ((text[4] != '-' && text[4] != '/') || text[13] != ':' || text[16] != ':') return std::nullopt;
  using namespace std::chrono;
  const year_month_day date{std::chrono::year(*year),
                            std::chrono::month(static_cast<unsigned>(*month)),
                            std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  std::int64_t nanoseconds = 0;
  std::size_t i = 19;
  if (i + 1 < text.size() && (text[i] == '.' || text[i] == ',') && is_digit(text[i + 1])) {
    std::int64_t unit = 100'000'000;
    for (++i; i < text.size() && is_digit(text[i]); ++i, unit /= 10) {
      nanoseconds += (text[i] - '0') * unit;
    }
  }
  const auto offset_hours =
      i < text.size() && (text[i] == '+' || text[i] == '-') ? digits(text, i + 1, 2) : std::nullopt;
  std::int64_t offset = 0;
  if (offset_hours) {
    const std::size_t at = i + 3 < text.size() && text[i + 3] == ':' ? i + 4 : i + 3;
    offset = *offset_hours * 3600 + digits(text, at, 2).value_or(0) * 60;
    if (text[i] == '-') offset = -offset;
  }
  const std::int64_t days_since = sys_days(date).time_since_epoch().count();
  const std::int64_t whole = days_since * 86400 + *hour * 3600 + *minute * 60 + *second - offset;
  if (std::abs(whole) > 9'000'000'000) return std::nullopt;
  return whole * 1'000'000'000 + nanoseconds;
}

}  // namespace lockstep::import
