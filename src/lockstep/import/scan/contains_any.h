#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string_view>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace lockstep::import {

/// A text as a template argument.
template <std::size_t N>
struct FixedText {
  consteval FixedText(const char (&text)[N]) { std::copy_n(text, N, letters); }  // NOLINT: implicit
  constexpr std::string_view view() const { return {letters, N - 1}; }
  char letters[N] = {};
};

/// Whether `text` has any of the parts, each of two letters or more. One pass for any
/// number of them: the parts are constants, compared with 16 places at once.
template <FixedText... Parts>
bool contains_any(std::string_view text) {
  // Compares a constant number of letters, which needs no call, not even where little is inlined.
  const auto begins = [end = text.data() + text.size()](const char* at) {
    return ((at[0] == Parts.letters[0] &&
             static_cast<std::size_t>(end - at) >= Parts.view().size() &&
             __builtin_memcmp(at, Parts.letters, sizeof(Parts.letters) - 1) == 0) ||
            ...);
  };
  std::size_t at = 0;
#ifdef __SSE2__
  while (at + 17 <= text.size()) {
    const char* place = text.data() + at;
    const __m128i here = _mm_loadu_si128(reinterpret_cast<const __m128i*>(place));
    const __m128i next = _mm_loadu_si128(reinterpret_cast<const __m128i*>(place + 1));
    __m128i fits = _mm_setzero_si128();
    ((fits =
          _mm_or_si128(fits, _mm_and_si128(_mm_cmpeq_epi8(here, _mm_set1_epi8(Parts.letters[0])),
                                           _mm_cmpeq_epi8(next, _mm_set1_epi8(Parts.letters[1]))))),
     ...);
    for (auto mask = static_cast<unsigned>(_mm_movemask_epi8(fits)); mask != 0; mask &= mask - 1) {
      if (begins(place + std::countr_zero(mask))) return true;
    }
    if (at + 17 == text.size()) return false;
    // The last places are compared together with some that were compared before.
    at = std::min(at + 16, text.size() - 17);
  }
#endif
  for (; at < text.size(); ++at) {
    if (begins(text.data() + at)) return true;
  }
  return false;
}

}  // namespace lockstep::import
