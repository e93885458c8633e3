#pragma once

#include "lockstep/nets/kernels/vector.h"

namespace lockstep::nets::kernels::LOCKSTEP_LANES {

/// A 3-tap filter of stride 2 takes its taps 0 and 2 from pixels of one parity and tap 1 from those
/// of the other. So 4 results are F(4, 2) over 5 pixels, which has 5 points, plus 4 plain products:
/// 9 multiplications in place of 12, and 81 in place of 144 in two dimensions. The last four points
/// share one filter. See Stride1 for the notation.
///
/// The interpolation points are 0, ±3/4, -2 and infinity: an error of 7e-7 of the result's root
/// mean square over 128 channels of rectified normal noise, against 1.0e-6 with 0, ±1, 2.
struct Stride2 {
  static constexpr int kSource = 9;
  static constexpr int kSourceStep = 8;
  static constexpr int kMargin = 1;
  static constexpr int kResult = 4;
  static constexpr int kPoints = 9;
  static constexpr int kFilterPoints = 6;

  static constexpr int filter_point(int point) { return point < 5 ? point : 5; }

  static constexpr float a = 0.75F, a2 = a * a, a3 = a2 * a;
  static constexpr float c = -2.0F, c2 = c * c, c3 = c2 * c;
  static constexpr double g0 = 1.0 / (double{a2} * c);
  static constexpr double gp = 1.0 / (2.0 * a2 * (double{a} - c));
  static constexpr double gm = 1.0 / (2.0 * a2 * (-double{a} - c));
  static constexpr double gc = 1.0 / (c * (double{c2} - a2));

  template <class Vector>
  [[gnu::always_inline]] static void five_to_points(const Vector& d0, const Vector& d1,
                                                    const Vector& d2, const Vector& d3,
                                                    const Vector& d4, Vector* v) {
    const Vector e0 = d1 - c * d0, e1 = d2 - c * d1, e2 = d3 - c * d2, e3 = d4 - c * d3;
    v[0] = e2 - a2 * e0;
    v[1] = e2 + a * e1;
    v[2] = e2 - a * e1;
    v[3] = d3 - a2 * d1;
    v[4] = e3 - a2 * e1;
  }

  template <class Vector>
  [[gnu::always_inline]] static void points_to_four(const Vector* m, Vector* y) {
    const Vector even = m[1] + m[2], odd = m[1] - m[2];
    y[0] = m[0] + (even + m[3]);
    y[1] = a * odd + c * m[3];
    y[2] = a2 * even + c2 * m[3];
    y[3] = m[4] + a3 * odd + c3 * m[3];
  }

  template <class Vector>
  [[gnu::always_inline]] static void source_to_points(const Vector (&d)[9], Vector (&v)[9]) {
    five_to_points(d[0], d[2], d[4], d[6], d[8], v);
    for (int i = 0; i < 4; ++i) v[5 + i] = d[2 * i + 1];
  }

  template <class Vector>
  [[gnu::always_inline]] static void points_to_result(const Vector (&m)[9], Vector (&y)[4]) {
    points_to_four(m, y);
    for (int i = 0; i < 4; ++i) y[i] += m[5 + i];
  }

  template <class Vector>
  [[gnu::always_inline]] static void result_to_points(const Vector (&y)[4], Vector (&m)[9]) {
    const Vector even = y[0] + a2 * y[2], odd = a * y[1] + a3 * y[3];
    m[0] = y[0];
    m[1] = even + odd;
    m[2] = even - odd;
    m[3] = (y[0] + c2 * y[2]) + (c * y[1] + c3 * y[3]);
    m[4] = y[3];
    for (int i = 0; i < 4; ++i) m[5 + i] = y[i];
  }

  template <class Vector>
  [[gnu::always_inline]] static void filter_to_points(const Vector (&g)[3], Vector (&u)[6]) {
    u[0] = float(g0) * g[0];
    u[1] = float(gp) * g[0] + float(gp * a) * g[2];
    u[2] = float(gm) * g[0] - float(gm * a) * g[2];
    u[3] = float(gc) * g[0] + float(gc * c) * g[2];
    u[4] = g[2];
    u[5] = g[1];
  }

  template <class Vector>
  [[gnu::always_inline]] static void points_to_filter(const Vector (&u)[6], Vector (&g)[3]) {
    g[0] = float(g0) * u[0] + float(gp) * u[1] + (float(gm) * u[2] + float(gc) * u[3]);
    g[1] = u[5];
    g[2] = u[4] + float(gp * a) * u[1] + (float(gc * c) * u[3] - float(gm * a) * u[2]);
  }
};

/// The gradient by the source of a convolution of stride 2: 5 gradients of results give those of 8
/// source pixels, the even ones through tap 1, the odd ones through taps 2 and 0. With turned
/// filters these are the points and filters of Stride2.
struct Stride2Gradient {
  static constexpr int kSource = 5;
  static constexpr int kSourceStep = 4;
  static constexpr int kMargin = 0;
  static constexpr int kResult = 8;
  static constexpr int kPoints = Stride2::kPoints;
  static constexpr int kFilterPoints = Stride2::kFilterPoints;

  static constexpr int filter_point(int point) { return Stride2::filter_point(point); }

  template <class Vector>
  [[gnu::always_inline]] static void source_to_points(const Vector (&d)[5], Vector (&v)[9]) {
    Stride2::five_to_points(d[0], d[1], d[2], d[3], d[4], v);
    for (int i = 0; i < 4; ++i) v[5 + i] = d[i];
  }

  template <class Vector>
  [[gnu::always_inline]] static void points_to_result(const Vector (&m)[9], Vector (&y)[8]) {
    Vector odd[4];
    Stride2::points_to_four(m, odd);
    for (int i = 0; i < 4; ++i) {
      y[2 * i] = m[5 + i];
      y[2 * i + 1] = odd[i];
    }
  }

  template <class Vector>
  [[gnu::always_inline]] static void filter_to_points(const Vector (&g)[3], Vector (&u)[6]) {
    Stride2::filter_to_points(g, u);
  }
};

}  // namespace lockstep::nets::kernels::LOCKSTEP_LANES
