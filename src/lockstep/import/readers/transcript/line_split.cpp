#include "lockstep/import/readers/transcript/line_split.h"

#include <algorithm>
#include <array>
#include <bit>

#include "lockstep/import/scan/text_scan.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace lockstep::import {
namespace {

constexpr std::array<bool, 256> kLetters = [] {
  std::array<bool, 256> letters{};
  for (std::size_t c = 0; c < 128; ++c) letters[c] = is_letter(static_cast<char>(c));
  return letters;
}();

/// Whether `word`, in letters of any case, is `small`. Both have the same length.
bool is_word(std::string_view word, std::string_view small) {
  for (std::size_t i = 0; i < small.size(); ++i) {
    if ((word[i] | 0x20) != small[i]) return false;
  }
  return true;
}

/// Whose figures a word of letters announces: kTrain, kValidation or kNone.
Split split_of_word(std::string_view word) {
  const auto either = [&](std::string_view a, std::string_view b) {
    return is_word(word, a) || is_word(word, b) ? Split::kValidation : Split::kNone;
  };
  switch (word.size()) {
    case 3:
      return either("val", "val");
    case 4:
      return either("test", "eval");
    case 5:
      return is_word(word, "train") ? Split::kTrain : either("valid", "valid");
    case 6:
      return either("tested", "tested");
    case 7:
      return is_word(word, "trained") ? Split::kTrain : either("testing", "testing");
    case 8:
      return is_word(word, "training") ? Split::kTrain : Split::kNone;
    case 10:
      return is_word(word, "validation") || is_word(word, "evaluation")
                 ? Split::kValidation
                 : either("evaluating", "validating");
    default:
      return Split::kNone;
  }
}

/// What the words of a line are about.
class SplitWords {
 public:
  explicit SplitWords(std::string_view text) : text_(text) {}

  /// The word at `at`, if one begins there.
  void look(std::size_t at) {
    if (at > 0 && kLetters[static_cast<unsigned char>(text_[at - 1])]) return;
    std::size_t end = at;
    while (end < text_.size() && kLetters[static_cast<unsigned char>(text_[end])]) ++end;
    const Split word = split_of_word(text_.substr(at, end - at));
    train_ = train_ || word == Split::kTrain;
    validation_ = validation_ || word == Split::kValidation;
  }
  Split found() const {
    if (train_ && validation_) return Split::kBoth;
    if (train_) return Split::kTrain;
    return validation_ ? Split::kValidation : Split::kNone;
  }

 private:
  std::string_view text_;
  bool train_ = false;
  bool validation_ = false;
};

}  // namespace

const char* first_validation_word(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_letter(text[end])) ++end;
    if (end > i && split_of_word(text.substr(i, end - i)) == Split::kValidation)
      return text.data() + i;
    i = std::max(end, i + 1);
  }
  return nullptr;
}

Split split_of(std::string_view text) {
  SplitWords words(text);
  std::size_t at = 0;
#ifdef __SSE2__
  // The words begin with "tr", "te", "va" or "ev", in letters of any case.
  const __m128i small = _mm_set1_epi8(0x20);
  while (at + 17 <= text.size()) {
    const auto* place = reinterpret_cast<const __m128i*>(text.data() + at);
    const __m128i here = _mm_or_si128(_mm_loadu_si128(place), small);
    const __m128i next = _mm_or_si128(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + at + 1)), small);
    const auto is = [](__m128i letters, char letter) {
      return _mm_cmpeq_epi8(letters, _mm_set1_epi8(letter));
    };
    const __m128i test = _mm_and_si128(is(here, 't'), _mm_or_si128(is(next, 'r'), is(next, 'e')));
    const __m128i valid = _mm_and_si128(is(here, 'v'), is(next, 'a'));
    const __m128i eval = _mm_and_si128(is(here, 'e'), is(next, 'v'));
    const __m128i fits = _mm_or_si128(test, _mm_or_si128(valid, eval));
    for (auto mask = static_cast<unsigned>(_mm_movemask_epi8(fits)); mask != 0; mask &= mask - 1)
      words.look(at + static_cast<std::size_t>(std::countr_zero(mask)));
    if (at + 17 == text.size()) return words.found();
    // The last places are compared together with some that were compared before.
    at = std::min(at + 16, text.size() - 17);
  }
#endif
  for (; at < text.size(); ++at) {
    const auto first = static_cast<char>(text[at] | 0x20);
    if (first == 't' || first == 'v' || first == 'e') words.look(at);
  }
  return words.found();
}

}  // namespace lockstep::import
