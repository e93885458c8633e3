#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "lockstep/nets/kernels/vector.h"

/// Matrix products of panels. A panel is a matrix of any number of rows and kPanel columns, row
/// after row; matrices of more columns are panels one after the other.
namespace lockstep::nets::kernels::LOCKSTEP_LANES {

inline constexpr int kPanel = 16;
inline constexpr int kVectors = kPanel / kLanes;  ///< Vectors in a row of a panel.

/// Rows of the largest block, whose sums hide the latency of the multiply-add: 6 x 16 take 12 of
/// the 16 registers of AVX2 and 24 of the 32 of ARM64, 12 x 16 take 12 of the 32 of AVX-512.
inline constexpr int kRows = kVectors == 1 ? 12 : 6;

/// One block of results, `Rows` x kPanel: the sum over k < depth of a(r, k) b(k, :).
template <int Rows>
struct Block {
  Floats sum[Rows][kVectors] = {};

  [[gnu::always_inline]] void add(const float* a, std::int64_t row_stride, const float* b) {
    Floats row[kVectors];
    for (int i = 0; i < kVectors; ++i) row[i] = load(b + i * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const float factor = a[r * row_stride];
      for (int i = 0; i < kVectors; ++i) sum[r][i] += factor * row[i];
    }
  }

  [[gnu::always_inline]] void put(float* c) const {
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      for (int i = 0; i < kVectors; ++i) store(c + r * kPanel + i * kLanes, sum[r][i]);
    }
  }

  [[gnu::always_inline]] void take(const float* c) {
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      for (int i = 0; i < kVectors; ++i) sum[r][i] = load(c + r * kPanel + i * kLanes);
    }
  }
};

/// c(r, :) = sum over p < panels, k < kPanel of a_p(r, k) b(p kPanel + k, :), for `Rows` rows of
/// the panels a_p, which lie `a_stride` floats apart.
template <int Rows>
inline void multiply_rows(const float* a, std::int64_t a_stride, std::int64_t panels,
                          const float* b, float* c) {
  Block<Rows> block;
  for (std::int64_t p = 0; p < panels; ++p, a += a_stride) {
#pragma GCC unroll 4
    for (int k = 0; k < kPanel; ++k, b += kPanel) block.add(a + k, kPanel, b);
  }
  block.put(c);
}

/// The same for any number of rows.
inline void multiply(std::int64_t rows, const float* a, std::int64_t a_stride, std::int64_t panels,
                     const float* b, float* c) {
  static constexpr auto kBlocks = []<std::size_t... index>(std::index_sequence<index...>) {
    return std::array{&multiply_rows<static_cast<int>(index) + 1>...};
  }
  (std::make_index_sequence<kRows>());
  while (rows > 0) {
    // Blocks of 4 rows run as fast as those of 6, those of 1 to 3 do not: 6 6 2 is taken as 6 4 4.
    const std::int64_t step = kRows == 6 && rows == 8 ? 4 : rows < kRows ? rows : kRows;
    kBlocks[static_cast<std::size_t>(step - 1)](a, a_stride, panels, b, c);
    rows -= step;
    a += step * kPanel;
    c += step * kPanel;
  }
}

/// c(r, :) += sum over k < depth of a(k, r) b(k, :), for `Rows` columns of the panel a.
template <int Rows>
inline void multiply_columns(std::int64_t depth, const float* a, const float* b, float* c,
                             bool add) {
  Block<Rows> block;
  if (add) block.take(c);
#pragma GCC unroll 4
  for (std::int64_t k = 0; k < depth; ++k) block.add(a + k * kPanel, 1, b + k * kPanel);
  block.put(c);
}

/// c = aᵗ b, or c += aᵗ b, where a, b and c are one panel each, a and b of `depth` rows.
inline void multiply_transposed(std::int64_t depth, const float* a, const float* b, float* c,
                                bool add) {
  if constexpr (kLanes == kPanel) {
    multiply_columns<kPanel>(depth, a, b, c, add);
  } else {
    multiply_columns<6>(depth, a, b, c, add);
    multiply_columns<6>(depth, a + 6, b, c + 6 * kPanel, add);
    multiply_columns<4>(depth, a + 12, b, c + 12 * kPanel, add);
  }
}

}  // namespace lockstep::nets::kernels::LOCKSTEP_LANES
