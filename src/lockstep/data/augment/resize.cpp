#include "lockstep/data/augment/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lockstep/base/simd.h"

// Blending whole rows is what vector units are good at, blending columns is not. So both directions
// blend rows, and the image is transposed byte by byte after each.
namespace lockstep::data {
namespace {

constexpr std::size_t kTile = 16;  // bytes each way that are transposed at once

std::size_t round_up(std::size_t size) {
  return (size + kTile - 1) / kTile * kTile;
}

/// Weights of input positions for `size` output positions. Output i covers the input around
/// begin + (i + 1/2) scale; the triangle has a half-width of one input position, or of one output
/// position where that is wider. Positions outside [0, limit) do not exist.
void make_taps(double begin, double end, int limit, int size, ResizeScratch::Taps& taps) {
  if (taps.begin == begin && taps.end == end && taps.limit == limit && taps.size == size) return;
  taps.begin = begin;
  taps.end = end;
  taps.limit = limit;
  taps.size = size;
  const double scale = (end - begin) / size, reach = std::max(scale, 1.0);
  const int lowest = static_cast<int>(begin);
  const int highest = std::min(limit, static_cast<int>(std::ceil(end)));
  const auto centre = [&](int i) { return begin + (i + 0.5) * scale; };
  const auto low = [&](int i) {
    return std::clamp(static_cast<int>(std::floor(centre(i) - reach + 0.5)), lowest, highest - 1);
  };
  const auto high = [&](int i) {
    return std::clamp(static_cast<int>(std::floor(centre(i) + reach + 0.5)), low(i) + 1, highest);
  };
  int most = 1;
  for (int i = 0; i < size; ++i) most = std::max(most, high(i) - low(i));
  taps.count = (most + 1) / 2 * 2;  // rows are blended in pairs
  const auto count = static_cast<std::size_t>(taps.count);
  taps.first.resize(static_cast<std::size_t>(size));
  taps.weights.assign(static_cast<std::size_t>(size) * count, 0);
  for (int i = 0; i < size; ++i) {
    const int first = low(i), last = high(i);
    const double middle = centre(i) - 0.5;
    const auto weight = [&](int p) { return std::max(1e-9, 1 - std::abs(p - middle) / reach); };
    double sum = 0;
    for (int p = first; p < last; ++p) sum += weight(p);
    for (int p = first; p < last; ++p) {
      taps.weights[static_cast<std::size_t>(i) * count + static_cast<std::size_t>(p - first)] =
          static_cast<std::uint16_t>(std::min(weight(p) / sum * 65536 + 0.5, 65535.0));
    }
    taps.first[static_cast<std::size_t>(i)] = first;
  }
}

/// pixel x weight in 256ths of a grey level: the high half of a 16-bit product.
inline std::uint16_t weigh(std::uint8_t pixel, std::uint16_t weight) {
  const auto wide = static_cast<std::uint16_t>(pixel << 8);
  return static_cast<std::uint16_t>((static_cast<std::uint32_t>(wide) * weight) >> 16);
}

inline std::uint8_t round_level(std::uint16_t sum) {
  return static_cast<std::uint8_t>(static_cast<std::uint16_t>(sum + 128) >> 8);
}

/// Pairs is known to the compiler, so that the sum stays in registers.
template <int kPairs>
[[gnu::always_inline]] inline void blend_pairs(const std::uint8_t* const* rows,
                                               const std::uint16_t* weights, std::size_t size,
                                               std::uint8_t* __restrict out) {
  for (std::size_t i = 0; i < size; ++i) {
    std::uint16_t sum = 0;
    for (int k = 0; k < 2 * kPairs; ++k) {
      sum = static_cast<std::uint16_t>(sum + weigh(rows[k][i], weights[k]));
    }
    out[i] = round_level(sum);
  }
}

LOCKSTEP_SIMD_CLONES void blend_two(const std::uint8_t* const* rows, const std::uint16_t* weights,
                                    std::size_t size, std::uint8_t* __restrict out) {
  blend_pairs<1>(rows, weights, size, out);
}

LOCKSTEP_SIMD_CLONES void blend_four(const std::uint8_t* const* rows, const std::uint16_t* weights,
                                     std::size_t size, std::uint8_t* __restrict out) {
  blend_pairs<2>(rows, weights, size, out);
}

LOCKSTEP_SIMD_CLONES void blend_six(const std::uint8_t* const* rows, const std::uint16_t* weights,
                                    std::size_t size, std::uint8_t* __restrict out) {
  blend_pairs<3>(rows, weights, size, out);
}

LOCKSTEP_SIMD_CLONES void add_pair(const std::uint8_t* a, const std::uint8_t* b, std::uint16_t wa,
                                   std::uint16_t wb, std::size_t size,
                                   std::uint16_t* __restrict sums) {
  for (std::size_t i = 0; i < size; ++i) {
    sums[i] = static_cast<std::uint16_t>(sums[i] + weigh(a[i], wa) + weigh(b[i], wb));
  }
}

LOCKSTEP_SIMD_CLONES void round_levels(const std::uint16_t* __restrict sums, std::size_t size,
                                       std::uint8_t* __restrict out) {
  for (std::size_t i = 0; i < size; ++i) out[i] = round_level(sums[i]);
}

/// out = the rows' weighted mean. The weights add up to one, so that 16 bits never overflow.
void blend_rows(const std::uint8_t* const* rows, const std::uint16_t* weights, std::size_t count,
                std::size_t size, std::vector<std::uint16_t>& sums, std::uint8_t* out) {
  if (count == 2) return blend_two(rows, weights, size, out);
  if (count == 4) return blend_four(rows, weights, size, out);
  if (count == 6) return blend_six(rows, weights, size, out);
  sums.assign(size, 0);
  for (std::size_t k = 0; k < count; k += 2) {
    add_pair(rows[k], rows[k + 1], weights[k], weights[k + 1], size, sums.data());
  }
  round_levels(sums.data(), size, out);
}

using Tile = std::uint8_t __attribute__((vector_size(kTile)));

/// The first halves of two rows, interleaved.
Tile low_halves(Tile a, Tile b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

Tile high_halves(Tile a, Tile b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                 31);
}

/// Transposes 16 rows of `size` bytes, `from` apart, into rows `to` apart. `size` is a multiple
/// of 16. Interleaving row i with row i + 8, four times over, moves every byte to its place.
void transpose_rows(const std::uint8_t* in, std::size_t from, std::size_t size, std::uint8_t* out,
                    std::size_t to) {
  for (std::size_t x = 0; x < size; x += kTile) {
    Tile a[kTile], b[kTile];
    for (std::size_t r = 0; r < kTile; ++r) std::memcpy(&a[r], in + r * from + x, kTile);
    for (int round = 0; round < 2; ++round) {
      for (std::size_t r = 0; r < 8; ++r) {
        b[2 * r] = low_halves(a[r], a[r + 8]);
        b[2 * r + 1] = high_halves(a[r], a[r + 8]);
      }
      for (std::size_t r = 0; r < 8; ++r) {
        a[2 * r] = low_halves(b[r], b[r + 8]);
        a[2 * r + 1] = high_halves(b[r], b[r + 8]);
      }
    }
    for (std::size_t r = 0; r < kTile; ++r) std::memcpy(out + (x + r) * to, &a[r], kTile);
  }
}

/// Blends rows by the taps and writes the result transposed: byte x of row y becomes byte y
/// of row x. A pixel of the direction that is blended has `group` rows, of which equals are
/// blended.
void blend_and_transpose(const ByteImage& in, const ResizeScratch::Taps& taps, int group,
                         ResizeScratch& s, std::vector<std::uint8_t>& out) {
  const auto row_bytes = static_cast<std::size_t>(in.width * in.channels);
  const std::size_t block_stride = round_up(row_bytes);
  const auto count = static_cast<std::size_t>(taps.count);
  const auto size = static_cast<std::size_t>(taps.size * group);
  const std::size_t out_stride = round_up(size);
  s.block.resize(kTile * block_stride);
  s.rows.resize(count);
  out.resize(block_stride * out_stride);
  for (std::size_t y = 0; y < size; y += kTile) {
    for (std::size_t r = 0; r < std::min(kTile, size - y); ++r) {
      const std::size_t i = (y + r) / static_cast<std::size_t>(group);
      const int channel = static_cast<int>((y + r) % static_cast<std::size_t>(group));
      for (std::size_t k = 0; k < count; ++k) {  // spare ones, without weight, repeat the last row
        const int row =
            std::min((taps.first[i] + static_cast<int>(k)) * group + channel, in.height - 1);
        s.rows[k] = in.bytes + static_cast<std::size_t>(row) * in.stride;
      }
      blend_rows(s.rows.data(), taps.weights.data() + i * count, count, row_bytes, s.sums,
                 s.block.data() + r * block_stride);
    }
    transpose_rows(s.block.data(), block_stride, block_stride, out.data() + y, out_stride);
  }
}

}  // namespace

ByteImage resize(const ByteImage& in, const Box& box, int height, int width,
                 std::vector<std::uint8_t>& out, ResizeScratch& scratch) {
  // The height first: of all columns in the box, and only those.
  const int left = std::max(0, static_cast<int>(box.left));
  const int right = std::min(in.width, static_cast<int>(std::ceil(box.right)));
  const ByteImage columns{in.bytes + left * in.channels, in.stride, in.height, right - left,
                          in.channels};
  make_taps(box.top, box.bottom, in.height, height, scratch.height);
  blend_and_transpose(columns, scratch.height, 1, scratch, scratch.transposed);

  // Then the width; columns are rows now, and each channel of a column is one.
  const ByteImage turned{scratch.transposed.data(), round_up(static_cast<std::size_t>(height)),
                         (right - left) * in.channels, height, 1};
  make_taps(box.left - left, box.right - left, right - left, width, scratch.width);
  blend_and_transpose(turned, scratch.width, in.channels, scratch, out);
  return {out.data(), round_up(static_cast<std::size_t>(width * in.channels)), height, width,
          in.channels};
}

}  // namespace lockstep::data
