#pragma once

#include "cpu/kernels/simd.hpp"

// Left to itself GCC calls some of these, with all their vectors in memory.
#if defined(__GNUC__)
#define FFT_INLINE [[gnu::always_inline]] static inline
#else
#define FFT_INLINE static inline
#endif

/// Transforms of a few complex numbers in registers, each number a vector of real and one of
/// imaginary parts.
namespace tilewright::cpu::TILEWRIGHT_ISA {

template <class V>
struct Complex {
  V re, im;
};

template <class V>
FFT_INLINE Complex<V> operator+(Complex<V> a, Complex<V> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class V>
FFT_INLINE Complex<V> operator-(Complex<V> a, Complex<V> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class V>
FFT_INLINE Complex<V> operator*(Complex<V> a, Complex<V> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
/// a - i b and a + i b.
template <class V>
FFT_INLINE Complex<V> minus_i(Complex<V> a, Complex<V> b) {
  return {a.re + b.im, a.im - b.re};
}
template <class V>
FFT_INLINE Complex<V> plus_i(Complex<V> a, Complex<V> b) {
  return {a.re - b.im, a.im + b.re};
}

template <class V>
FFT_INLINE void transform2(Complex<V>& a, Complex<V>& b) {
  const Complex<V> sum = a + b;
  b = a - b;
  a = sum;
}

template <class V>
FFT_INLINE void transform4(Complex<V>& a, Complex<V>& b, Complex<V>& c, Complex<V>& d) {
  const Complex<V> ac = a + c, bd = b + d, a_c = a - c, b_d = b - d;
  a = ac + bd;
  b = minus_i(a_c, b_d);
  c = ac - bd;
  d = plus_i(a_c, b_d);
}

/// exp(-2 pi i / 8) of x, and its third power.
template <class V>
FFT_INLINE Complex<V> eighth(Complex<V> x) {
  constexpr auto half = static_cast<decltype(x.re[0] + 0)>(0.70710678118654752440);
  return {half * (x.re + x.im), half * (x.im - x.re)};
}
template <class V>
FFT_INLINE Complex<V> three_eighths(Complex<V> x) {
  constexpr auto half = static_cast<decltype(x.re[0] + 0)>(0.70710678118654752440);
  return {half * (x.im - x.re), -half * (x.re + x.im)};
}

template <class V>
FFT_INLINE void transform8(Complex<V>& x0, Complex<V>& x1, Complex<V>& x2, Complex<V>& x3,
                           Complex<V>& x4, Complex<V>& x5, Complex<V>& x6, Complex<V>& x7) {
  transform4(x0, x2, x4, x6);
  transform4(x1, x3, x5, x7);
  const Complex<V> y1 = eighth(x3), y3 = three_eighths(x7);
  const Complex<V> e0 = x0, e1 = x2, e2 = x4, e3 = x6, o0 = x1, o2 = x5;
  x0 = e0 + o0;
  x4 = e0 - o0;
  x1 = e1 + y1;
  x5 = e1 - y1;
  x2 = minus_i(e2, o2);
  x6 = plus_i(e2, o2);
  x3 = e3 + y3;
  x7 = e3 - y3;
}

/// The cosines and sines of 2 pi i / R, i from 1 to (R - 1) / 2.
template <std::size_t R>
struct OddRoots;
template <>
struct OddRoots<3> {
  static constexpr double cos[] = {-0.5};
  static constexpr double sin[] = {0.86602540378443864676};
};
template <>
struct OddRoots<5> {
  static constexpr double cos[] = {0.30901699437494742410, -0.80901699437494742410};
  static constexpr double sin[] = {0.95105651629515357212, 0.58778525229247312917};
};
template <>
struct OddRoots<7> {
  static constexpr double cos[] = {0.62348980185873353053, -0.22252093395631440429,
                                   -0.90096886790241912624};
  static constexpr double sin[] = {0.78183148246802980871, 0.97492791218182360702,
                                   0.43388373911755812048};
};
template <>
struct OddRoots<11> {
  static constexpr double cos[] = {0.84125353283118116886, 0.41541501300188642553,
                                   -0.14231483827328514044, -0.65486073394528506406,
                                   -0.95949297361449738989};
  static constexpr double sin[] = {0.54064081745559758211, 0.90963199535451837141,
                                   0.98982144188093273238, 0.75574957435425828377,
                                   0.28173255684142969771};
};
template <>
struct OddRoots<13> {
  static constexpr double cos[] = {0.88545602565320989590,  0.56806474673115580251,
                                   0.12053668025532305335,  -0.35460488704253562597,
                                   -0.74851074817110109863, -0.97094181742605202716};
  static constexpr double sin[] = {0.46472317204376854566, 0.82298386589365639458,
                                   0.99270887409805399280, 0.93501624268541482344,
                                   0.66312265824079520238, 0.23931566428755776715};
};

template <std::size_t R, class V>
FFT_INLINE void transform_odd(Complex<V>* x) {
  using T = decltype(x->re[0] + 0);
  constexpr std::size_t half = (R - 1) / 2;
  Complex<V> sum[half + 1], difference[half + 1];
#pragma GCC unroll 16
  for (std::size_t i = 1; i <= half; ++i) {
    sum[i] = x[i] + x[R - i];
    difference[i] = x[i] - x[R - i];
  }
  const Complex<V> first = x[0];
#pragma GCC unroll 16
  for (std::size_t i = 1; i <= half; ++i) x[0] = x[0] + sum[i];
#pragma GCC unroll 16
  for (std::size_t q = 1; q <= half; ++q) {
    Complex<V> a = first, b{};
#pragma GCC unroll 16
    for (std::size_t i = 1; i <= half; ++i) {
      const std::size_t angle = i * q % R;
      const bool past = angle > half;
      const std::size_t at = (past ? R - angle : angle) - 1;
      const auto cos = static_cast<T>(OddRoots<R>::cos[at]);
      const auto sin = static_cast<T>(past ? -OddRoots<R>::sin[at] : OddRoots<R>::sin[at]);
      a.re += cos * sum[i].re;
      a.im += cos * sum[i].im;
      b.re = i == 1 ? sin * difference[i].re : b.re + sin * difference[i].re;
      b.im = i == 1 ? sin * difference[i].im : b.im + sin * difference[i].im;
    }
    x[q] = minus_i(a, b);
    x[R - q] = plus_i(a, b);
  }
}

template <class V>
FFT_INLINE void transform9(Complex<V>* x) {
  using T = decltype(x->re[0] + 0);
  const auto turned = [](Complex<V> a, double cos, double sin) {
    const auto c = static_cast<T>(cos), s = static_cast<T>(sin);
    return Complex<V>{c * a.re + s * a.im, c * a.im - s * a.re};
  };
  Complex<V> y[3][3];
#pragma GCC unroll 3
  for (std::size_t i = 0; i < 3; ++i) {
    Complex<V> z[3] = {x[i], x[i + 3], x[i + 6]};
    transform_odd<3>(z);
    y[0][i] = z[0], y[1][i] = z[1], y[2][i] = z[2];
  }
  y[1][1] = turned(y[1][1], 0.76604444311897803520, 0.64278760968653932632);
  y[1][2] = turned(y[1][2], 0.17364817766693034885, 0.98480775301220805937);
  y[2][1] = turned(y[2][1], 0.17364817766693034885, 0.98480775301220805937);
  y[2][2] = turned(y[2][2], -0.93969262078590838405, 0.34202014332566873304);
#pragma GCC unroll 3
  for (std::size_t q = 0; q < 3; ++q) {
    transform_odd<3>(y[q]);
    x[q] = y[q][0], x[q + 3] = y[q][1], x[q + 6] = y[q][2];
  }
}

/// The transform of R numbers, in place.
template <std::size_t R, class V>
FFT_INLINE void transform(Complex<V>* x) {
  if constexpr (R == 2) {
    transform2(x[0], x[1]);
  } else if constexpr (R == 4) {
    transform4(x[0], x[1], x[2], x[3]);
  } else if constexpr (R == 8) {
    transform8(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]);
  } else if constexpr (R == 9) {
    transform9(x);
  } else {
    transform_odd<R>(x);
  }
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
