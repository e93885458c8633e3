#pragma once

/// Eight floats in the compiler's own vector type: one register of AVX2, two of ARM64. Include this
/// only from the files of this folder that are compiled for AVX2 and FMA: the inline functions
/// would otherwise exist in two versions under one name.

namespace lockstep::nets::kernels {

using Floats = float __attribute__((vector_size(32)));
inline constexpr int kLanes = 8;

/// Floats at any address.
using LooseFloats = float __attribute__((vector_size(32), aligned(4), may_alias));

[[gnu::always_inline]] inline Floats load(const float* from) {
  return *reinterpret_cast<const LooseFloats*>(from);
}

[[gnu::always_inline]] inline void store(float* to, Floats value) {
  *reinterpret_cast<LooseFloats*>(to) = value;
}

/// Row i, column j to row j, column i of an 8 x 8 square.
[[gnu::always_inline]] inline void transpose(Floats (&rows)[kLanes]) {
  Floats pairs[kLanes], quads[kLanes];
  for (int i = 0; i < kLanes; i += 2) {
    pairs[i] = __builtin_shufflevector(rows[i], rows[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    pairs[i + 1] = __builtin_shufflevector(rows[i], rows[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int i = 0; i < kLanes; i += 4) {
    for (int j = 0; j < 2; ++j) {
      const Floats a = pairs[i + j], b = pairs[i + j + 2];
      quads[i + 2 * j] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
      quads[i + 2 * j + 1] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (int i = 0; i < 4; ++i) {
    rows[i] = __builtin_shufflevector(quads[i], quads[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    rows[i + 4] = __builtin_shufflevector(quads[i], quads[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

}  // namespace lockstep::nets::kernels
