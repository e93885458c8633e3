#include "lockstep/import/readers/transcript/line_kinds.h"

#include <cmath>

#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {

bool may_have_figures(std::string_view text) {
  return contains_any<"poch", "POCH", "acc", "Acc", "oss", "/s", "/it", "ime", "hroughput", "lr",
                      "top1", "rain |", "alid |", "seconds", "recision", "verage", "learning",
                      "inished in", "ompleted in", "omplete in", "lapsed">(text);
}

bool is_separator(std::string_view text) {
  text = trim(text);
  return text.size() >= 10 &&
         (text[0] == '=' || text[0] == '-' || text[0] == '#' || text[0] == '*') &&
         text.find_first_not_of(text[0]) == std::string_view::npos;
}

std::optional<std::pair<std::int64_t, std::size_t>> find_step(std::string_view text) {
  constexpr std::size_t kFarthest = 40;
  const std::string_view front = text.substr(0, kFarthest);
  if (!contains_any<"tep", "ter">(front)) return std::nullopt;
  for (const std::string_view word :
       {"Step", "step", "iteration", "Iteration", "iter", "Iter", "STEP", "ITER"}) {
    std::size_t at = front.find(word);
    if (front.substr(0, at + word.size() + 1).ends_with('_'))  // "iter_dt 18.48ms; iter 100"
      at = front.find(word, at + 1);
    if (at == std::string_view::npos || (at > 0 && is_letter(text[at - 1]))) continue;
    std::string_view rest = text.substr(at + word.size());
    const std::size_t first = rest.find_first_not_of(" :=#[(");
    if (first == std::string_view::npos || first == 0 || !is_digit(rest[first])) continue;
    rest.remove_prefix(first);
    const auto number = take_number(rest);
    if (!number || *number < 0 || *number > 1e12 || rest.starts_with('.') ||
        *number != std::floor(*number))
      continue;
    const std::size_t next = rest.find_first_not_of(' ');
    if (next == std::string_view::npos) continue;
    std::size_t end = text.size() - rest.size();
    // "step 10 loss 4.51": a name, apart from the number, follows as well as a separator does.
    const bool separated = contains(":,|/])-;\t", rest.substr(next, 1));
    if (!separated && (next == 0 || !is_letter(rest[next]))) continue;
    if (rest[next] == '/') {  // "10/100"
      std::string_view total = rest.substr(next + 1);
      if (take_number(total)) end = text.size() - total.size();
    }
    return std::pair(static_cast<std::int64_t>(*number), end);
  }
  return std::nullopt;
}

std::optional<double> dashed_seconds(std::string_view text) {
  text = trim(text);
  if (!text.starts_with("---") || !text.ends_with("---")) return std::nullopt;
  text = text.substr(0, text.find_last_not_of("- ") + 1);
  const std::size_t begin = text.find_first_not_of("- ");
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin);
  const auto value = take_number(text);
  return value && *value > 0 && trim(text) == "seconds" ? value : std::nullopt;
}

bool tells_of_exhausted_memory(std::string_view text) {
  if (!contains_any<"emory", "OOM", "bad_alloc", "oom">(text)) return false;
  const bool failed =
      contains_any<"CUDA out of memory", "OutOfMemoryError", "OOM when allocating", "oom-kill",
                   "oom_kill event", "std::bad_alloc", "out of memory. Tried",
                   "error: out of memory", "memory full", "Cannot allocate memory", "OUT_OF_MEMORY",
                   "t allocate memory", "Unable to allocate">(text) ||
      text.starts_with("MemoryError") ||
      (contains(text, "out of memory") && contains(text, "rror"));
  return failed && !contains_any<"avoid OOM", "warning", "WARN">(text);
}

}  // namespace lockstep::import
