#pragma once

#include "cpu/kernels/fft_lanes.hpp"

/// Stockham's passes, of one radix each, between two buffers, in the order in which the numbers end
/// up sorted.
namespace tilewright::cpu::TILEWRIGHT_ISA {

template <class V, class T>
struct FromNeighbours {
  static constexpr bool first = true;
  const T* input;
  std::size_t step, count;
  [[gnu::always_inline]] Complex<V> operator()(std::size_t k) const {
    return split(load_neighbours<V>(input + k * step, count));
  }
};

template <class V>
struct FromBuffer {
  static constexpr bool first = false;
  const Complex<V>* buffer;
  [[gnu::always_inline]] Complex<V> operator()(std::size_t k) const { return get(buffer[k]); }
};

template <class V>
struct ToBuffer {
  Complex<V>* buffer;
  [[gnu::always_inline]] void operator()(std::size_t k, Complex<V> x) const { put(buffer[k], x); }
};

/// The inverse is the transform with its results in the opposite order.
static inline std::size_t place_of(std::size_t k, std::size_t n, bool inverse) {
  return inverse && k != 0 ? n - k : k;
}

template <class V, class T>
struct ToNeighbours {
  T* output;
  std::size_t step, count, n;
  T scale;
  bool inverse;
  [[gnu::always_inline]] void operator()(std::size_t k, Complex<V> x) const {
    x.re *= scale;
    x.im *= scale;
    store_neighbours(output + place_of(k, n, inverse) * step, join(x), count);
  }
};

/// `from` has `done` transforms of n / (R * done) * R neighbours each, `to` gets R times as many.
template <std::size_t R, class V, class T, class From, class To>
[[gnu::noinline]] static void pass(From from, To to, const T* roots, std::size_t root_step,
                                   std::size_t done, std::size_t rest) {
  for (std::size_t j = 0; j < rest; ++j) {
    Complex<V> x[R];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < R; ++i) x[i] = from(j + i * rest);
    transform<R>(x);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < R; ++i) to(j + i * done * rest, x[i]);
  }
  if constexpr (From::first) return;
  for (std::size_t k = 1; k < done; ++k) {
    V cos[R], sin[R];
#pragma GCC unroll 16
    for (std::size_t i = 1; i < R; ++i) {
      const T* const root = roots + 2 * i * k * root_step;
      cos[i] = root[0] - V{};
      sin[i] = root[1] - V{};
    }
    for (std::size_t j = 0; j < rest; ++j) {
      Complex<V> x[R];
      x[0] = from(k * R * rest + j);
#pragma GCC unroll 16
      for (std::size_t i = 1; i < R; ++i) {
        x[i] = from(k * R * rest + j + i * rest) * Complex<V>{cos[i], sin[i]};
      }
      transform<R>(x);
#pragma GCC unroll 16
      for (std::size_t i = 0; i < R; ++i) to((k + i * done) * rest + j, x[i]);
    }
  }
}

/// Outputs q to q + Q - 1 of R, and those as far from the end, of the sums and the differences of
/// the numbers as far from both ends. Roots are the R of them, root_step apart.
template <std::size_t Q, class V, class T, class Store>
FFT_INLINE void sums_of(std::size_t radix, std::size_t q, Complex<V> first, const Complex<V>* sum,
                        const Complex<V>* difference, const T* roots, std::size_t root_step,
                        Store store) {
  Complex<V> even[Q], odd[Q];
  std::size_t angle[Q];
#pragma GCC unroll 4
  for (std::size_t t = 0; t < Q; ++t) {
    even[t] = first;
    odd[t] = {V{}, V{}};
    angle[t] = 0;
  }
  for (std::size_t i = 0; i < radix / 2; ++i) {
    const Complex<V> s = get(sum[i]), d = get(difference[i]);
#pragma GCC unroll 4
    for (std::size_t t = 0; t < Q; ++t) {
      angle[t] += q + t;
      if (angle[t] >= radix) angle[t] -= radix;
      const T* const root = roots + 2 * angle[t] * root_step;
      const T cos = root[0], sin = root[1];
      even[t].re += cos * s.re;
      even[t].im += cos * s.im;
      odd[t].re += sin * d.re;
      odd[t].im += sin * d.im;
    }
  }
#pragma GCC unroll 4
  for (std::size_t t = 0; t < Q; ++t) {
    store(q + t, plus_i(even[t], odd[t]));
    store(radix - q - t, minus_i(even[t], odd[t]));
  }
}

/// As pass(), of any odd radix up to fft_longest_radix.
template <class V, class T, class From, class To>
[[gnu::noinline]] static void sums_pass(std::size_t radix, From from, To to, const T* roots,
                                        std::size_t root_step, std::size_t done, std::size_t rest) {
  constexpr std::size_t at_once = sizeof(V) == 64 ? 4 : 2;  // what registers hold
  Complex<V> sum[fft_longest_radix / 2], difference[fft_longest_radix / 2];
  const std::size_t half = radix / 2;
  for (std::size_t k = 0; k < done; ++k) {
    for (std::size_t j = 0; j < rest; ++j) {
      const std::size_t source = k * radix * rest + j;
      const Complex<V> first = from(source);
      Complex<V> total = first;
      for (std::size_t i = 1; i <= half; ++i) {
        Complex<V> a = from(source + i * rest), b = from(source + (radix - i) * rest);
        if (k > 0) {
          const T* const near = roots + 2 * i * k * root_step;
          const T* const far = roots + 2 * (radix - i) * k * root_step;
          a = a * Complex<V>{near[0] - V{}, near[1] - V{}};
          b = b * Complex<V>{far[0] - V{}, far[1] - V{}};
        }
        const Complex<V> both = a + b;
        put(sum[i - 1], both);
        put(difference[i - 1], a - b);
        total = total + both;
      }
      to(k * rest + j, total);
      const auto store = [&](std::size_t q, Complex<V> x)
                             __attribute__((always_inline)) { to((k + q * done) * rest + j, x); };
      std::size_t q = 1;
      for (; q + at_once <= half + 1; q += at_once) {
        sums_of<at_once, V>(radix, q, first, sum, difference, roots, done * root_step, store);
      }
      for (; q <= half; ++q) {
        sums_of<1, V>(radix, q, first, sum, difference, roots, done * root_step, store);
      }
    }
  }
}

/// The radices of lengths of the factors 2, 3, 5 and 7.
template <class V, class T, class From, class To>
static void short_pass(std::size_t radix, From from, To to, const T* roots, std::size_t root_step,
                       std::size_t done, std::size_t rest) {
  switch (radix) {
    case 2:
      return pass<2, V>(from, to, roots, root_step, done, rest);
    case 3:
      return pass<3, V>(from, to, roots, root_step, done, rest);
    case 4:
      return pass<4, V>(from, to, roots, root_step, done, rest);
    case 5:
      return pass<5, V>(from, to, roots, root_step, done, rest);
    case 7:
      return pass<7, V>(from, to, roots, root_step, done, rest);
    case 8:
      return pass<8, V>(from, to, roots, root_step, done, rest);
    default:
      return pass<9, V>(from, to, roots, root_step, done, rest);
  }
}

template <class V, class T, class From, class To>
static void run_pass(std::size_t radix, From from, To to, const T* roots, std::size_t root_step,
                     std::size_t done, std::size_t rest) {
  if (radix < 11) return short_pass<V>(radix, from, to, roots, root_step, done, rest);
  if (radix == 11) return pass<11, V>(from, to, roots, root_step, done, rest);
  if (radix == 13) return pass<13, V>(from, to, roots, root_step, done, rest);
  sums_pass<V>(radix, from, to, roots, root_step, done, rest);
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
