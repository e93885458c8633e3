#include "lockstep/data/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lockstep/base/simd.h"

namespace lockstep::data {
namespace {

constexpr int kChannels = 3;

/// Weights of the input positions [begin, end) for `size` output positions. Position i of the
/// output covers the input around begin + (i + 1/2) scale; the triangle has a half-width of one
/// input position, or of one output position where that is wider.
void make_taps(int begin, int end, int size, ResizeScratch::Taps& taps) {
  const double scale = static_cast<double>(end - begin) / size;
  const double reach = std::max(scale, 1.0);
  // Even, so that rows can be blended in pairs.
  const int count = (static_cast<int>(std::ceil(2 * reach)) + 2) / 2 * 2;
  taps.count = count;
  taps.first.resize(static_cast<std::size_t>(size));
  taps.weights.assign(static_cast<std::size_t>(size) * static_cast<std::size_t>(count), 0);
  for (int i = 0; i < size; ++i) {
    const double centre = begin + (i + 0.5) * scale;
    const int low = std::max(begin, static_cast<int>(centre - reach + 0.5));
    const int high = std::min(end, static_cast<int>(centre + reach + 0.5));
    float* weights = taps.weights.data() + i * count;
    double sum = 0;
    for (int p = low; p < high; ++p) sum += std::max(0.0, 1 - std::abs(p + 0.5 - centre) / reach);
    for (int p = low; p < high; ++p) {
      const double weight = std::max(0.0, 1 - std::abs(p + 0.5 - centre) / reach);
      weights[p - low] = static_cast<float>(weight / sum);
    }
    taps.first[static_cast<std::size_t>(i)] = low;
  }
}

/// out = sum of weights[k] rows[k], `count` (even) rows.
LOCKSTEP_SIMD_CLONES void blend_rows(const std::uint8_t* const* rows, const float* weights,
                                     int count, std::size_t size, float* __restrict out) {
  int k = 0;
  if (count >= 4) {
    const std::uint8_t *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
    const float wa = weights[0], wb = weights[1], wc = weights[2], wd = weights[3];
    for (std::size_t i = 0; i < size; ++i) {
      out[i] = (wa * static_cast<float>(a[i]) + wb * static_cast<float>(b[i])) +
               (wc * static_cast<float>(c[i]) + wd * static_cast<float>(d[i]));
    }
    k = 4;
  } else {
    const std::uint8_t *a = rows[0], *b = rows[1];
    const float wa = weights[0], wb = weights[1];
    for (std::size_t i = 0; i < size; ++i) {
      out[i] = wa * static_cast<float>(a[i]) + wb * static_cast<float>(b[i]);
    }
    k = 2;
  }
  for (; k < count; k += 2) {
    const std::uint8_t *a = rows[k], *b = rows[k + 1];
    const float wa = weights[k], wb = weights[k + 1];
    for (std::size_t i = 0; i < size; ++i) {
      out[i] += wa * static_cast<float>(a[i]) + wb * static_cast<float>(b[i]);
    }
  }
}

/// Four floats at once on every instruction set; one pixel and the red of the next.
using Quad = float __attribute__((vector_size(16)));
using QuadInt = std::int32_t __attribute__((vector_size(16)));

/// One row of pixels. Loads and stores reach one value past a pixel; the next one mends the stores.
LOCKSTEP_SIMD_CLONES void blend_columns(const float* row, const int* first, const float* weights,
                                        int count, int width, std::uint8_t* out) {
  for (int x = 0; x < width; ++x, weights += count, out += kChannels) {
    const float* in = row + kChannels * first[x];
    Quad sum = {0.5F, 0.5F, 0.5F, 0.5F};
    for (int k = 0; k < count; ++k) {
      Quad pixel;
      std::memcpy(&pixel, in + kChannels * k, sizeof pixel);
      sum += pixel * weights[k];
    }
    const QuadInt rounded = __builtin_convertvector(sum, QuadInt);
    for (int c = 0; c < kChannels; ++c) out[c] = static_cast<std::uint8_t>(rounded[c]);
  }
}

}  // namespace

void resize_rgb(const std::uint8_t* in, ImageShape in_shape, Box box, std::uint8_t* out,
                ImageShape out_shape, ResizeScratch& scratch) {
  make_taps(box.left, box.right, out_shape.width, scratch.columns);
  make_taps(box.top, box.bottom, out_shape.height, scratch.rows);
  const std::size_t stride = static_cast<std::size_t>(in_shape.width) * kChannels;
  const auto slack = static_cast<std::size_t>(scratch.columns.count + 2) * kChannels;
  scratch.row.assign(stride + slack, 0);  // weights of zero meet zeros there, never a NaN
  const int count = scratch.rows.count;
  scratch.row_pointers.resize(static_cast<std::size_t>(count));
  for (int y = 0; y < out_shape.height; ++y) {
    const int first = scratch.rows.first[static_cast<std::size_t>(y)];
    for (int k = 0; k < count; ++k) {
      const int row = std::min(first + k, box.bottom - 1);
      scratch.row_pointers[static_cast<std::size_t>(k)] =
          in + static_cast<std::size_t>(row) * stride;
    }
    blend_rows(scratch.row_pointers.data(), scratch.rows.weights.data() + y * count, count, stride,
               scratch.row.data());
    blend_columns(
        scratch.row.data(), scratch.columns.first.data(), scratch.columns.weights.data(),
        scratch.columns.count, out_shape.width,
        out + static_cast<std::size_t>(y) * static_cast<std::size_t>(out_shape.width) * kChannels);
  }
}

}  // namespace lockstep::data
