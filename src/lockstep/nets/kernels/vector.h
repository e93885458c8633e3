#pragma once

/// Vectors of floats in the compiler's own types. The files of this folder that include this are
/// compiled once for each width of vectors, into a namespace of its own: `lanes8` for AVX2 and FMA
/// (and ARM64, two registers each), `lanes16` for AVX-512. Others must not include it: its inline
/// functions would exist in two versions under one name.
#if defined(LOCKSTEP_KERNELS_AVX512)
#define LOCKSTEP_LANES lanes16
#else
#define LOCKSTEP_LANES lanes8
#endif

namespace lockstep::nets::kernels {
namespace lanes8 {
inline constexpr int kLanes = 8;
}
namespace lanes16 {
inline constexpr int kLanes = 16;
}
}  // namespace lockstep::nets::kernels

namespace lockstep::nets::kernels::LOCKSTEP_LANES {

using Floats = float __attribute__((vector_size(kLanes * sizeof(float))));

/// For weights, whose nine taps would not fill wider vectors.
inline constexpr int kEight = 8;
using Eight = float __attribute__((vector_size(kEight * sizeof(float))));

/// From any address.
template <class Vector = Floats>
[[gnu::always_inline]] inline Vector load(const float* from) {
  Vector value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

template <class Vector>
[[gnu::always_inline]] inline void store(float* to, Vector value) {
  __builtin_memcpy(to, &value, sizeof value);
}

/// Row i, column j to row j, column i of an 8 x 8 square.
[[gnu::always_inline]] inline void transpose(Eight (&rows)[kEight]) {
  Eight pairs[kEight], quads[kEight];
  for (int i = 0; i < kEight; i += 2) {
    pairs[i] = __builtin_shufflevector(rows[i], rows[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    pairs[i + 1] = __builtin_shufflevector(rows[i], rows[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int i = 0; i < kEight; i += 4) {
    for (int j = 0; j < 2; ++j) {
      const Eight a = pairs[i + j], b = pairs[i + j + 2];
      quads[i + 2 * j] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
      quads[i + 2 * j + 1] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (int i = 0; i < 4; ++i) {
    rows[i] = __builtin_shufflevector(quads[i], quads[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    rows[i + 4] = __builtin_shufflevector(quads[i], quads[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

}  // namespace lockstep::nets::kernels::LOCKSTEP_LANES
