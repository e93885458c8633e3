#include "lockstep/import/readers/transcript/epoch_mark.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/ratio.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

EpochMark within(std::int64_t epoch, const Ratio& place, std::size_t end) {
  EpochMark mark;
  mark.epoch = epoch;
  mark.position = place.done;
  mark.length = place.of;
  mark.within = true;
  mark.end = end;
  return mark;
}

/// "[640/60000 (1%)]", "[50]" or ", step 10/999" after the epoch: how far it is.
void find_place(std::string_view text, EpochMark& mark) {
  const std::size_t open = text.find('[', mark.end);
  if (open != std::string_view::npos && open <= mark.end + 4) {
    std::string_view rest = text.substr(open + 1);
    std::string_view whole = rest;
    if (const auto place = take_ratio(rest); place && place->of >= 1 && place->done <= place->of) {
      mark.position = place->done;
      mark.length = place->of;
      mark.within = true;
      mark.end = text.size() - rest.size();
      return;
    }
    const auto step = take_number(whole);
    if (step && *step >= 0 && *step <= 1e12 && whole.starts_with("]")) {
      mark.position = static_cast<std::int64_t>(*step);
      mark.within = true;
      mark.end = text.size() - whole.size() + 1;
      return;
    }
  }
  // "| epoch   1 |   200/ 2983 batches |".
  const std::size_t digit = text.find_first_not_of(" |,-:", mark.end);
  if (digit != std::string_view::npos && is_digit(text[digit])) {
    std::string_view rest = text.substr(digit);
    const auto place = take_ratio(rest);
    const std::string_view things = trim(rest);
    if (place && place->of >= 1 && place->done <= place->of &&
        (things.starts_with("batches") || things.starts_with("steps") ||
         things.starts_with("iter"))) {
      mark.position = place->done;
      mark.length = place->of;
      mark.within = true;
      mark.end = text.size() - rest.size();
      return;
    }
  }
  const std::string_view below = text.substr(mark.end);
  // "epoch=0 i=3/530 loss=1.5".
  std::string_view counter = trim(below);
  if (counter.starts_with("i=")) {
    counter.remove_prefix(2);
    const auto place = take_ratio(counter);
    if (place && place->of >= 1 && place->done <= place->of) {
      mark.position = place->done;
      mark.length = place->of;
      mark.within = true;
      mark.end = static_cast<std::size_t>(counter.data() - text.data());
      return;
    }
  }
  if (!contains_any<"iter", "step", "batch", "Step", "Batch", "Iter">(below)) return;
  const bool iter = contains_any<"iter">(below);
  const bool batch = contains_any<"batch">(below);
  const bool titled = contains_any<"Iter">(below);
  const std::array<std::pair<std::string_view, bool>, 12> places{
      {{"iteration", iter},
       {"step", contains_any<"step">(below)},
       {"iters", iter},
       {"iter", iter},
       {"batch_idx", batch},
       {"batch_id", batch},
       {"batch", batch},
       {"Step", contains_any<"Step">(below)},
       {"Batch", contains_any<"Batch">(below)},
       {"Iters", titled},
       {"Iter", titled},
       {"Iteration", titled}}};
  for (const auto& [word, possible] : places) {
    if (!possible) continue;
    const std::size_t found = position_of(word, below);
    const std::size_t at = found == std::string_view::npos ? found : mark.end + found;
    // "ms/batch 14.5" and "time per batch: 0.12" are figures, "new_step=1" is a setting.
    if (at == std::string_view::npos || text[at - 1] == '/' || text[at - 1] == '_' ||
        is_letter(text[at - 1]) || text.substr(0, at).ends_with("per "))
      continue;
    std::string_view rest = text.substr(at + word.size());
    // "batch=64" may be a size; a place all the same where it stands apart.
    const bool equals = rest.starts_with('=');
    const bool size = equals && lower(word) == "batch";
    const bool counts = rest.starts_with(' ') || rest.starts_with(':') || equals;
    const std::size_t first = rest.find_first_not_of(" :=[(");
    if (!counts || first == std::string_view::npos || !is_digit(rest[first])) continue;
    rest.remove_prefix(first);
    std::string_view whole = rest;
    const auto place = take_ratio(rest);
    const auto step = take_number(whole);
    if (size && !place) continue;
    if (!place && (!step || *step < 0 || *step > 1e12 || *step != std::floor(*step))) continue;
    mark.position = place ? place->done : static_cast<std::int64_t>(*step);
    mark.length = place ? place->of : 0;
    mark.within = true;
    mark.end = text.size() - (place ? rest : whole).size();
    return;
  }
}

/// "Training time for epoch: 59.8", "time per epoch: 14.2": the number after it is no epoch's.
bool names_a_figure(std::string_view before) {
  before = trim(before);
  const char last = before.empty() ? ' ' : before.back();
  if (last != 'r' && last != 'h' && last != 'y' && last != 'n') return false;
  for (const std::string_view word :
       {"for", "per", "each", "every", "Each", "Per", "an", "Every"}) {
    if (word.back() != last || !before.ends_with(word)) continue;
    const std::size_t rest = before.size() - word.size();
    if (rest > 0 && before[rest - 1] != ' ') continue;
    const bool share = word != "for" && word != "an";  // "Steps per epoch: 100"
    return share || contains_any<"ime", "oss", "cc">(before);
  }
  return false;
}

/// "Best epoch: 69", "best accuracy 0.9 at epoch 69": a summary, not a line of that epoch.
bool names_the_best(std::string_view before) {
  if (!contains_any<"best", "Best", "BEST">(before)) return false;
  const std::string words = lower(trim(before));
  return words.ends_with("best") || words.ends_with(" at") || words.ends_with(" from") ||
         words.ends_with(" in") || words.ends_with(" on") || words.ends_with("(");
}

/// "Early stopping triggered at epoch 57": the results below are those of another epoch, or a test.
bool ends_early(std::string_view before) {
  return contains_any<"arly stop", "arly Stop", "arly-stop", "arlyStop", "ARLY STOP">(before);
}

/// "1 epoch = 330 batches", "first epoch (20 steps)": how long epochs are.
bool is_length(std::string_view after) {
  after = trim(after);
  constexpr std::array<std::string_view, 5> kThings{"batches", "steps", "iterations", "samples",
                                                    "examples"};
  for (const std::string_view unit : kThings) {
    if (!after.starts_with(unit)) continue;
    const std::size_t next = after.find_first_not_of(" :=", unit.size());
    return next == std::string_view::npos || !is_digit(after[next]);  // "epoch 3 steps: 64"
  }
  return false;
}

/// Whether "epoch 3" behind "time taken for" is a numbered epoch: the figure follows it after a
/// sign, or nothing does.
bool is_numbered(std::string_view between, std::string_view after) {
  if (between.find_first_not_of(" #[") != std::string_view::npos) return false;
  after = trim(after);
  if (after.starts_with('/') || after.starts_with("of ")) {  // "for epoch 3/90: 25.2"
    after = trim(after.substr(after[0] == '/' ? 1 : 3));
    if (!take_number(after)) return false;
  }
  while (after.starts_with(']')) after.remove_prefix(1);
  after = trim(after);
  if (after.empty() || after == ".") return true;
  for (const std::string_view sign : {":", "=", "is ", "was "}) {
    if (!after.starts_with(sign)) continue;
    after = trim(after.substr(sign.size()));
    return !after.empty() && is_digit(after[0]);
  }
  return false;
}

/// How long the words before "for epoch 3" are, without the "for"; 0 for other words.
std::size_t words_before(std::string_view before) {
  before = trim(before);
  constexpr std::array<std::string_view, 3> kWords{" for", " of", " in"};
  for (const std::string_view word : kWords) {
    if (before.ends_with(word)) return before.size() - word.size();
  }
  return 0;
}

/// "training it 512/2048 of epoch 0": the place stands before the epoch.
void find_place_before(std::string_view before, EpochMark& mark) {
  before = trim(before);
  const bool listed = before.ends_with(',');  // "iteration 50, epoch 0 : loss"
  if (!before.ends_with(" of") && !listed) return;
  before = trim(before.substr(0, before.size() - (listed ? 1 : 3)));
  std::size_t begin = before.size();
  while (begin > 0 && (is_digit(before[begin - 1]) || before[begin - 1] == '/')) --begin;
  const std::string_view words = trim(before.substr(0, begin));
  constexpr std::array<std::string_view, 6> kPlaces{"it",   "iter",  "iteration",
                                                    "step", "batch", "minibatch"};
  const std::string word = lower(words.substr(words.find_last_of(" [(") + 1));
  if (std::find(kPlaces.begin(), kPlaces.end(), word) == kPlaces.end()) return;
  std::string_view rest = before.substr(begin);
  const auto step = parse_integer(rest);
  if (listed && step && *step >= 0) {
    mark.position = *step;
    mark.within = true;
    mark.named_by = 0;
    return;
  }
  const auto place = take_ratio(rest);
  if (!place || !rest.empty() || place->of < 1 || place->done > place->of) return;
  mark.position = place->done;
  mark.length = place->of;
  mark.within = true;
  mark.named_by = 0;
}

/// "[ Train | 001/100 ] loss = 1.9".
std::optional<EpochMark> bracketed_split(std::string_view text) {
  std::string_view rest = trim(text);
  if (!rest.starts_with('[')) return std::nullopt;
  rest.remove_prefix(1);
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  bool split = false;
  for (const std::string_view word :
       {"Train", "Valid", "Val", "Test", "train", "valid", "val", "test"})
    split = split || (rest.starts_with(word) && rest.substr(word.size()).starts_with(" | "));
  if (!split) return std::nullopt;
  rest.remove_prefix(rest.find('|') + 1);
  const auto place = take_ratio(rest);
  if (!place || place->of < place->done || place->of > 1'000'000) return std::nullopt;
  EpochMark mark;
  mark.epoch = place->done;
  mark.planned = place->of;
  mark.end = static_cast<std::size_t>(rest.data() - text.data());
  return mark;
}

/// "Ep 3 | loss 0.4", "[FT] ep=0: loss=0.2": an abbreviation counts only in front of the line and
/// of a loss or an accuracy.
std::optional<EpochMark> abbreviated_mark(std::string_view text) {
  std::string_view rest = trim(text);
  if (rest.starts_with('[')) {  // a tag
    const std::size_t close = rest.find(']');
    if (close == std::string_view::npos || close > 12) return std::nullopt;
    rest = trim(rest.substr(close + 1));
  }
  if (!rest.starts_with("Ep") && !rest.starts_with("ep") && !rest.starts_with("EP"))
    return std::nullopt;
  rest.remove_prefix(2);
  const std::size_t digit = rest.find_first_not_of(" :=#");
  if (digit == std::string_view::npos || digit == 0 || !is_digit(rest[digit])) return std::nullopt;
  rest.remove_prefix(digit);
  std::string_view whole = rest;
  const auto ratio = take_ratio(rest);
  const auto number = take_number(whole);
  if (!ratio && (!number || *number != std::floor(*number) || *number > 1e6)) return std::nullopt;
  if (ratio && (ratio->of < ratio->done || ratio->of > 1'000'000)) return std::nullopt;
  if (!ratio) rest = whole;
  const std::string_view after = trim(rest);
  if (after.empty() || !contains("|:,-", after.substr(0, 1)) || !contains_any<"oss", "cc">(after))
    return std::nullopt;
  EpochMark mark;
  mark.epoch = ratio ? ratio->done : static_cast<std::int64_t>(*number);
  mark.planned = ratio ? ratio->of : 0;
  mark.end = static_cast<std::size_t>(rest.data() - text.data());
  find_place(text, mark);
  return mark;
}

/// "loss: 2.303494  [   64/60000]": how far the epoch is stands behind the figure.
std::optional<EpochMark> place_at_end(std::string_view text, std::string_view line,
                                      std::int64_t epoch) {
  const std::size_t open = line.rfind('[');
  if (!line.starts_with("loss: ") && !line.starts_with("Loss: ")) return std::nullopt;
  if (open == std::string_view::npos) return std::nullopt;
  std::string_view inside = line.substr(open + 1);
  const auto place = take_ratio(inside);
  if (!place || place->of < 2 || place->done > place->of || trim(inside) != "]")
    return std::nullopt;
  return within(epoch, *place, static_cast<std::size_t>(line.data() - text.data()));
}

}  // namespace

std::optional<EpochMark> find_bare_place(std::string_view text, std::int64_t epoch) {
  std::string_view rest = trim(text);
  if (rest.empty() || !contains_any<"oss", "cc">(rest)) return std::nullopt;
  if (rest.ends_with(']')) return place_at_end(text, rest, epoch);
  if (!is_digit(rest[0])) return std::nullopt;
  const auto place = take_ratio(rest);
  if (!place || place->of < 1 || place->done > place->of) return std::nullopt;
  // "12/50000 images wrong, loss 0.4" counts something else.
  if (!rest.starts_with(", ") && !rest.starts_with(" | ") && !rest.starts_with(": "))
    return std::nullopt;
  return within(epoch, *place, static_cast<std::size_t>(rest.data() - text.data()));
}

std::optional<EpochMark> find_epoch_mark(std::string_view text) {
  const bool any = contains_any<"poch", "POCH">(text);
  std::string_view word = "poch";
  std::size_t first_place = any ? position_of(word, text) : std::string_view::npos;
  if (any && first_place == std::string_view::npos) {
    word = "POCH";
    first_place = position_of(word, text);
  }
  for (std::size_t at = first_place; at != std::string_view::npos; at = text.find(word, at + 1)) {
    const char first = at > 0 ? text[at - 1] : ' ';
    const bool starts = (first == 'E' || first == 'e') && (at < 2 || !is_letter(text[at - 2]));
    std::size_t i = at + 4;
    if (!starts) continue;
    const std::size_t begin = i - 5;
    // "--epoch 5" is an option of a command.
    const std::string_view before = text.substr(0, begin);
    if (before.ends_with("--") || names_the_best(before) || ends_early(before)) continue;
    const bool follows_words = text.find_first_not_of(' ') < begin;
    const bool named = follows_words && names_a_figure(before);
    const std::size_t word_end = i;
    while (i < text.size() &&
           (text[i] == ' ' || text[i] == ':' || text[i] == '=' || text[i] == '[' ||
            text[i] == '#' || text[i] == '\t' || text[i] == '(')) {
      ++i;
    }
    std::string_view rest = text.substr(i);
    const bool digit = !rest.empty() && is_digit(rest[0]);
    const auto number = digit ? take_number(rest) : std::nullopt;
    if (!number || *number > 1e6 || is_length(rest)) continue;
    const bool numbered = follows_words && is_numbered(text.substr(word_end, i - word_end), rest);
    if (named && !numbered) continue;
    EpochMark mark;
    if (numbered) mark.named_by = words_before(text.substr(0, begin));
    mark.epoch = static_cast<std::int64_t>(*number);
    if (*number != std::floor(*number)) ++mark.epoch;  // "epoch: 1.8" is within the second
    std::string_view total = rest;
    while (!total.empty() && total[0] == ' ') total.remove_prefix(1);
    if (total.starts_with("/") || total.starts_with("of ")) {
      total.remove_prefix(total[0] == '/' ? 1 : 3);
      const auto planned = take_number(total);
      if (planned && *planned >= 1 && *planned <= 1e6) {
        mark.planned = static_cast<std::int64_t>(*planned);
        rest = total;
      }
    }
    mark.end = text.size() - rest.size();
    if (text.substr(mark.end).starts_with("]")) ++mark.end;
    find_place(text, mark);
    if (!mark.within) find_place_before(text.substr(0, begin), mark);
    return mark;
  }
  if (text.find(" | ") != std::string_view::npos) {
    if (const auto mark = bracketed_split(text)) return mark;
  }
  return abbreviated_mark(text);
}

}  // namespace lockstep::import
