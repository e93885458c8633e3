#pragma once

#include <cstdint>

#include "lockstep/nets/kernels/vector.h"

/// Matrix products of panels. A panel is a matrix of any number of rows and kPanel columns, row
/// after row; matrices of more columns are panels one after the other.
namespace lockstep::nets::kernels {

inline constexpr int kPanel = 16;
/// 6 x 16 results take 12 of the 16 registers of AVX2, 24 of the 32 of ARM64: enough to hide the
/// latency of the multiply-add.
inline constexpr int kRows = 6;

/// One block of results, `Rows` x kPanel: the sum over k < depth of a(r, k) b(k, :).
template <int Rows>
struct Block {
  Floats sum[Rows][2] = {};

  [[gnu::always_inline]] void add(const float* a, std::int64_t row_stride, const float* b) {
    const Floats left = load(b), right = load(b + kLanes);
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
      const float factor = a[r * row_stride];
      sum[r][0] += factor * left;
      sum[r][1] += factor * right;
    }
  }

  [[gnu::always_inline]] void put(float* c) const {
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
      store(c + r * kPanel, sum[r][0]);
      store(c + r * kPanel + kLanes, sum[r][1]);
    }
  }

  [[gnu::always_inline]] void take(const float* c) {
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
      sum[r][0] = load(c + r * kPanel);
      sum[r][1] = load(c + r * kPanel + kLanes);
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
  // Blocks of 4 rows run as fast as those of 6, those of 1 to 3 do not: 6 6 2 is taken as 6 4 4.
  while (rows > 0) {
    const bool fours = rows == 4 || rows == 8;
    const int step = fours ? 4 : rows >= kRows ? kRows : static_cast<int>(rows);
    switch (step) {
      case 6:
        multiply_rows<6>(a, a_stride, panels, b, c);
        break;
      case 5:
        multiply_rows<5>(a, a_stride, panels, b, c);
        break;
      case 4:
        multiply_rows<4>(a, a_stride, panels, b, c);
        break;
      case 3:
        multiply_rows<3>(a, a_stride, panels, b, c);
        break;
      case 2:
        multiply_rows<2>(a, a_stride, panels, b, c);
        break;
      default:
        multiply_rows<1>(a, a_stride, panels, b, c);
        break;
    }
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
  multiply_columns<6>(depth, a, b, c, add);
  multiply_columns<6>(depth, a + 6, b, c + 6 * kPanel, add);
  multiply_columns<4>(depth, a + 12, b, c + 12 * kPanel, add);
}

}  // namespace lockstep::nets::kernels
