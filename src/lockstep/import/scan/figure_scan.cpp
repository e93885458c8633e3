#include "lockstep/import/scan/figure_scan.h"

#include <algorithm>
#include <array>

namespace lockstep::import {
namespace {

bool is_name_char(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '/' || c == '-' || c == '@' || c == '.' ||
         c == ' ';
}

/// Of "Test set: Average loss", the last up to three words of letters.
std::string_view last_words(std::string_view text) {
  text = trim(text);
  std::size_t begin = text.size();
  while (begin > 0 && is_name_char(text[begin - 1])) --begin;
  text = trim(text.substr(begin));
  // "71.2%. Training loss": what ends the sentence before is no part of the name.
  while (!text.empty() && (text[0] == '.' || text[0] == '-' || text[0] == ' '))
    text.remove_prefix(1);
  int words = 0;
  for (std::size_t i = text.size(); i > 0; --i) {
    if (text[i - 1] == ' ' && ++words == 3) return text.substr(i);
  }
  return text;
}

/// A word after a number is its unit only if it is one: in "loss 0.9 val acc 0.5" it is not.
bool is_unit(std::string_view word) {
  // By length, each list without separators.
  constexpr std::array<std::string_view, 11> kUnits{"",
                                                    "sh",
                                                    "msushritGBMBKB",
                                                    "secminhrsspsipsfpsitsimgGiBMiB",
                                                    "secsmsecminshourimgsstepiter",
                                                    "hoursimagestepsiters",
                                                    "secondminuteimagessampleepochstokens",
                                                    "secondsminutessamplesexamplebatches",
                                                    "examples",
                                                    "",
                                                    "iterations"};
  if (word.empty() || word.size() > 12) return false;
  if (word.find('/') != std::string_view::npos) return true;
  if (word.size() >= kUnits.size()) return false;
  const std::string_view list = kUnits[word.size()];
  for (std::size_t i = 0; i < list.size(); i += word.size()) {
    if (list.substr(i, word.size()) == word) return true;
  }
  return false;
}

/// Takes the "k" of "1.2k img/s" or the "M" of "1.3 M tokens/s" from the front of `rest`; 1
/// without.
double take_thousands(std::string_view& rest) {
  const bool apart = rest.size() > 1 && rest[0] == ' ';
  const char sign = rest.empty() ? ' ' : rest[apart ? 1 : 0];
  if (sign != 'k' && sign != 'K' && sign != 'M') return 1;
  const std::string_view after = rest.substr(apart ? 2 : 1);
  if (!after.empty() && after[0] != ' ' && after[0] != ',' && after[0] != ')') return 1;
  if (apart) {  // a word of its own: only before a rate
    const std::string_view word = trim(after.substr(0, after.find_first_of(",|;", 1)));
    if (!contains(word.substr(0, word.find(' ')), "/s")) return 1;
  }
  rest = after;
  return sign == 'M' ? 1e6 : 1e3;
}

/// "loss4.7057", "epoch time26.5s": a number that a script printed right behind its name. A part of
/// a file's name ("acc0.93.pt") is none.
bool is_glued(std::string_view text, std::size_t at) {
  std::size_t begin = at;
  while (begin > 0 && is_letter(text[begin - 1])) --begin;
  const std::string_view name = text.substr(begin, at - begin);
  if (name != "loss" && name != "time" && name != "acc" && name != "accuracy" && name != "Loss" &&
      name != "Time" && name != "Acc" && name != "Accuracy")
    return false;
  if (begin > 0 && text[begin - 1] != ' ' && text[begin - 1] != '|' && text[begin - 1] != ',')
    return false;
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  if (end + 1 >= text.size() || text[end] != '.' || !is_digit(text[end + 1])) return false;
  ++end;
  while (end < text.size() && is_digit(text[end])) ++end;
  if (end < text.size() && (text[end] == 's' || text[end] == '%')) ++end;
  return end == text.size() || text[end] == ' ' || text[end] == ',' || text[end] == '|' ||
         text[end] == ';';
}

/// ", 0.31, 0.27]" behind the first number of a list, whose values are of several epochs or ranks.
bool goes_on_as_list(std::string_view rest) {
  if (rest.starts_with(' ')) {  // "[0.325 0.409 0.472": as NumPy prints it
    rest = trim(rest);
    return rest.size() > 1 && (is_digit(rest[0]) || rest[0] == '-') &&
           (is_digit(rest[1]) || rest[1] == '.');
  }
  if (!rest.starts_with(',')) return false;
  rest = trim(rest.substr(1));
  return !rest.empty() && (is_digit(rest[0]) || rest[0] == '-' || rest[0] == '.');
}

/// A unit that alone defines what the number is: a time, or a rate.
bool speaks_alone(std::string_view unit) {
  if (unit.empty()) return false;
  return unit == "s" || unit == "sec" || unit == "secs" || unit == "seconds" || unit == "ms" ||
         unit.ends_with("/s") || unit.ends_with("/sec") || unit.ends_with("/second") ||
         unit.ends_with("/step") || unit.ends_with("/it") || unit.ends_with("/iter") ||
         unit.ends_with("/batch") || unit.ends_with("/epoch");
}

/// What may begin a number or end a name; nearly all of a line is neither.
constexpr std::array<bool, 256> kMatters = [] {
  std::array<bool, 256> matters{};
  for (const char c : std::string_view("0123456789+-.ni,;|\t"))
    matters[static_cast<unsigned char>(c)] = true;
  return matters;
}();

}  // namespace

bool FigureScan::next(Figure& figure) {
  std::string_view text = text_;
  std::size_t name_begin = name_begin_;
  for (std::size_t i = at_; i < text.size();) {
    const char c = text[i];
    if (!kMatters[static_cast<unsigned char>(c)]) {
      ++i;
      continue;
    }
    const bool starts = is_digit(c) || ((c == '-' || c == '+' || c == '.') && i + 1 < text.size() &&
                                        (is_digit(text[i + 1]) || text[i + 1] == '.'));
    const char before = i > 0 ? text[i - 1] : ' ';
    const bool apart = before == ' ' || before == '=' || before == ':' || before == '\t' ||
                       before == '(' || before == '[' ||
                       (is_digit(c) && is_letter(before) && is_glued(text, i));
    const bool word = (c == 'n' || c == 'i') && apart && i > 1 &&
                      (text.substr(i, 3) == "nan" || text.substr(i, 3) == "inf");
    if (!(starts || word) || !apart) {
      const bool dash = c == '-' && before == ' ' && i + 1 < text.size() && text[i + 1] == ' ';
      if (c == ',' || c == ';' || c == '|' || c == '\t' || dash) name_begin = i + 1;
      ++i;
      continue;
    }
    std::string_view rest = text.substr(i);
    const auto value = take_number(rest);
    if (!value) {
      ++i;
      continue;
    }
    if (before == '[' && goes_on_as_list(rest)) {
      i = std::min(text.find(']', i), text.size());
      name_begin = i;
      continue;
    }
    const double scale = take_thousands(rest);
    std::string_view name = text.substr(name_begin, i - name_begin);
    const std::size_t last = name.find_last_not_of(" :=([\t");
    name = last == std::string_view::npos ? std::string_view() : name.substr(0, last + 1);
    if (name.ends_with(" is")) name.remove_suffix(3);  // "loss is 2.87"
    figure = {last_words(name), *value * scale, false, {}, name, rest};
    std::string_view after = rest;
    while (!after.empty() && after[0] == ' ') after.remove_prefix(1);
    figure.percent = !after.empty() && after[0] == '%';
    std::size_t unit = 0;
    while (unit < after.size() && (is_letter(after[unit]) || after[unit] == '/')) ++unit;
    // "0.5 epoch_time=3": a word that goes on is the next figure's name, no unit.
    const char follows = unit < after.size() ? after[unit] : ' ';
    if (follows == '_' || follows == '=' || follows == ':' || follows == '-' || is_digit(follows) ||
        !is_unit(after.substr(0, unit))) {
      unit = 0;
    }
    figure.unit = after.substr(0, unit);
    const bool ratio = !rest.empty() && rest[0] == '/';
    const bool named = !figure.name.empty() && is_letter(figure.name[0]);
    if (!named) figure.name = {};
    const bool found = !ratio && (named || speaks_alone(figure.unit));
    i = text.size() - rest.size();
    if (ratio) {  // past the second half
      ++i;
      while (i < text.size() && (is_digit(text[i]) || text[i] == ' ')) ++i;
    }
    name_begin = i;
    if (!figure.unit.empty() && !ratio && figure.unit != figure.name) {
      name_begin = static_cast<std::size_t>(after.data() - text.data()) + unit;
      // "12.3 loss 0.4": the word is the next figure's name, not a unit.
      std::string_view next = text.substr(name_begin);
      const std::size_t first = next.find_first_not_of(" :=");
      if (first != std::string_view::npos && first > 0 &&
          (is_digit(next[first]) || next[first] == '.')) {
        name_begin = static_cast<std::size_t>(after.data() - text.data());
      }
    }
    if (found) {
      at_ = i;
      name_begin_ = name_begin;
      return true;
    }
  }
  at_ = text.size();
  return false;
}

}  // namespace lockstep::import
