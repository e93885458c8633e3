#pragma once

#include <bit>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace lockstep::import {

/// The first quote or backslash from `at` on, `end` without: where a JSON text ends or has to be
/// looked at closer. Compares 16 bytes at once.
inline const char* quote_or_escape(const char* at, const char* end) {
#ifdef __SSE2__
  for (; end - at >= 16; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i fits = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                      _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(fits));
    if (mask != 0) return at + std::countr_zero(mask);
  }
#endif
  while (at != end && *at != '"' && *at != '\\') ++at;
  return at;
}

/// The first quote or bracket from `at` on, `end` without: what the shape of a JSON value consists
/// of.
inline const char* quote_or_bracket(const char* at, const char* end) {
#ifdef __SSE2__
  for (; end - at >= 16; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    // One bit makes '[' and '{' alike, and ']' and '}'.
    const __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    const __m128i fits = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                      _mm_or_si128(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{')),
                                                   _mm_cmpeq_epi8(folded, _mm_set1_epi8('}'))));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(fits));
    if (mask != 0) return at + std::countr_zero(mask);
  }
#endif
  while (at != end && *at != '"' && (*at | 0x20) != '{' && (*at | 0x20) != '}') ++at;
  return at;
}

}  // namespace lockstep::import
