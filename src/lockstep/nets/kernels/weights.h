#pragma once

#include "lockstep/nets/kernels/tiles.h"

/// Weights to and from the points of a Scheme (Stride1, Stride2, Stride2Gradient). As Points they
/// have a row for each input channel of the product and a column for each output channel.
namespace lockstep::nets::kernels::LOCKSTEP_LANES {

inline constexpr int kTaps = 9;

/// Elements k..k+7 (rows) x c..c+7 x 9 taps of weights, as vectors over k: `taps[c * 9 + tap]`.
struct WeightSquare {
  Eight taps[kEight * kTaps];

  /// `row` floats lie between one k and the next.
  [[gnu::always_inline]] void take(const float* weights, std::int64_t row) {
    for (int block = 0; block < kTaps; ++block) {
      Eight square[kEight];
      for (int k = 0; k < kEight; ++k) square[k] = load<Eight>(weights + k * row + block * kEight);
      transpose(square);
      for (int i = 0; i < kEight; ++i) taps[block * kEight + i] = square[i];
    }
  }

  [[gnu::always_inline]] void put(float* weights, std::int64_t row) const {
    for (int block = 0; block < kTaps; ++block) {
      Eight square[kEight];
      for (int i = 0; i < kEight; ++i) square[i] = taps[block * kEight + i];
      transpose(square);
      for (int k = 0; k < kEight; ++k) store(weights + k * row + block * kEight, square[k]);
    }
  }
};

/// One filter per lane to `out` and the same place of the other points.
template <class Scheme>
[[gnu::always_inline]] inline void filter_to_points(const Eight* taps, float* out,
                                                    std::int64_t stride) {
  constexpr int kCount = Scheme::kFilterPoints;
  transform_square<3, kCount, Eight>(
      [](const auto& from, auto& to) { Scheme::filter_to_points(from, to); },
      [&](int i, int j) { return taps[i * 3 + j]; },
      [&](int i, int j, Eight value) { store(out + (i * kCount + j) * stride, value); });
}

/// Output channels k..k+15 and input channels c..c+7 of `weights` (out x in x 9) to rows c.. of the
/// panel `index`, for output = input * weights.
template <class Scheme>
inline void weights_to_points(const float* weights, std::int64_t in, std::int64_t k, std::int64_t c,
                              const Points& points, std::int64_t index) {
  for (int half = 0; half < kPanel; half += kEight) {
    WeightSquare square;
    square.take(weights + ((k + half) * in + c) * kTaps, in * kTaps);
    for (int i = 0; i < kEight; ++i) {
      float* out = points.panel(0, index) + (c + i) * kPanel + half;
      filter_to_points<Scheme>(square.taps + i * kTaps, out, points.stride());
    }
  }
}

/// The same with the roles of input and output exchanged and the filters turned by 180 degrees, as
/// the gradient by the input needs them: input channels c..c+15 become columns, output channels
/// k..k+7 rows.
template <class Scheme>
inline void turned_weights_to_points(const float* weights, std::int64_t in, std::int64_t k,
                                     std::int64_t c, const Points& points, std::int64_t index) {
  for (int i = 0; i < kEight; ++i) {
    for (int half = 0; half < kPanel; half += kEight) {
      const float* filters = weights + ((k + i) * in + c + half) * kTaps;
      Eight square[kEight], taps[kTaps];
      for (int lane = 0; lane < kEight; ++lane) square[lane] = load<Eight>(filters + lane * kTaps);
      transpose(square);
      for (int tap = 0; tap < kEight; ++tap) taps[kTaps - 1 - tap] = square[tap];
      const float* last = filters + kTaps - 1;
      taps[0] = Eight{last[0],         last[kTaps],     last[2 * kTaps], last[3 * kTaps],
                      last[4 * kTaps], last[5 * kTaps], last[6 * kTaps], last[7 * kTaps]};
      float* out = points.panel(0, index) + (k + i) * kPanel + half;
      filter_to_points<Scheme>(taps, out, points.stride());
    }
  }
}

/// The way back, for gradients: panel `index`, rows `row`..row+7, to `grad` of output channels
/// k..k+15 and input channels c..c+7.
template <class Scheme>
inline void points_to_weights(const Points& points, std::int64_t index, std::int64_t row,
                              float* grad, std::int64_t in, std::int64_t k, std::int64_t c) {
  constexpr int kCount = Scheme::kFilterPoints;
  const std::int64_t stride = points.stride();
  for (int half = 0; half < kPanel; half += kEight) {
    WeightSquare square;
    for (int i = 0; i < kEight; ++i) {
      const float* from = points.panel(0, index) + (row + i) * kPanel + half;
      transform_square<kCount, 3, Eight>(
          [](const auto& products, auto& to) { Scheme::points_to_filter(products, to); },
          [&](int a, int b) { return load<Eight>(from + (a * kCount + b) * stride); },
          [&](int a, int b, Eight value) { square.taps[i * kTaps + a * 3 + b] = value; });
    }
    square.put(grad + ((k + half) * in + c) * kTaps, in * kTaps);
  }
}

}  // namespace lockstep::nets::kernels::LOCKSTEP_LANES
