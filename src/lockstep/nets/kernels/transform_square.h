#pragma once

#include "lockstep/nets/kernels/vector.h"

namespace lockstep::nets::kernels::LOCKSTEP_LANES {

/// Applies the one-dimensional `transform` (From values to To) to the columns and then the rows of
/// a square: `source(i, j)` gives an element, `sink(i, j, value)` takes one.
template <int From, int To, class Vector = Floats, class Transform, class Source, class Sink>
[[gnu::always_inline]] inline void transform_square(Transform transform, Source source, Sink sink) {
  Vector half[To][From];
#pragma GCC unroll 9
  for (int j = 0; j < From; ++j) {
    Vector column[From], changed[To];
#pragma GCC unroll 9
    for (int i = 0; i < From; ++i) column[i] = source(i, j);
    transform(column, changed);
#pragma GCC unroll 9
    for (int i = 0; i < To; ++i) half[i][j] = changed[i];
  }
#pragma GCC unroll 9
  for (int i = 0; i < To; ++i) {
    Vector changed[To];
    transform(half[i], changed);
#pragma GCC unroll 9
    for (int j = 0; j < To; ++j) sink(i, j, changed[j]);
  }
}

}  // namespace lockstep::nets::kernels::LOCKSTEP_LANES
