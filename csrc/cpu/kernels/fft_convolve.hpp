#pragma once

#include "cpu/kernels/fft_passes.hpp"

/// Transforms as convolutions with a chirp (Bluestein's): the chirp is multiplied by as numbers are
/// read and written, the transform of what they are convolved with as the first of two transforms
/// ends.
namespace tilewright::cpu::TILEWRIGHT_ISA {

/// Numbers `step` apart, times the chirp, and zeros behind them.
template <class V, class T>
struct FromChirped {
  static constexpr bool first = true;
  const Complex<V>* buffer;
  std::size_t step, n;
  const T* chirp;
  [[gnu::always_inline]] Complex<V> operator()(std::size_t k) const {
    if (k >= n) return {V{}, V{}};
    return get(buffer[k * step]) * Complex<V>{chirp[2 * k] - V{}, chirp[2 * k + 1] - V{}};
  }
};

template <class V, class T>
struct ToProduct {
  Complex<V>* buffer;
  const T* by;
  [[gnu::always_inline]] void operator()(std::size_t k, Complex<V> x) const {
    put(buffer[k], x * Complex<V>{by[2 * k] - V{}, by[2 * k + 1] - V{}});
  }
};

/// The first n of an inverse of `longer` numbers, times the chirp.
template <class V, class T>
struct ToChirped {
  Complex<V>* buffer;
  std::size_t step, n, longer;
  const T* chirp;
  [[gnu::always_inline]] void operator()(std::size_t k, Complex<V> x) const {
    const std::size_t place = place_of(k, longer, true);
    if (place >= n) return;
    const Complex<V> by{chirp[2 * place] - V{}, chirp[2 * place + 1] - V{}};
    put(buffer[place * step], x * by);
  }
};

/// The first pass, of radix c.n, of c.n * rest numbers; c.longer of them are room in each of two
/// buffers.
template <class V, class T>
[[gnu::noinline]] static void convolve(const FftConvolution<T>& c, const Complex<V>* from,
                                       Complex<V>* to, std::size_t rest, Complex<V>* room) {
  for (std::size_t j = 0; j < rest; ++j) {
    Complex<V>*now = room, *next = room + c.longer;
    const auto transform = [&](auto source, auto last) __attribute__((always_inline)) {
      std::size_t done = 1, step = c.longer;
      for (std::size_t i = 0; i < c.passes; ++i) {
        const std::size_t radix = c.radices[i], left = c.longer / done / radix;
        step /= radix;
        if (i == 0) {
          short_pass<V>(radix, source, ToBuffer<V>{next}, c.roots, step, done, left);
        } else if (i + 1 < c.passes) {
          short_pass<V>(radix, FromBuffer<V>{now}, ToBuffer<V>{next}, c.roots, step, done, left);
        } else {
          short_pass<V>(radix, FromBuffer<V>{now}, last(next), c.roots, step, done, left);
        }
        done *= radix;
        Complex<V>* const swapped = now;
        now = next;
        next = swapped;
      }
    };
    transform(FromChirped<V, T>{from + j, rest, c.n, c.chirp},
              [&](Complex<V>* buffer) { return ToProduct<V, T>{buffer, c.answer}; });
    transform(FromBuffer<V>{now},
              [&](Complex<V>*) { return ToChirped<V, T>{to + j, rest, c.n, c.longer, c.chirp}; });
  }
}

/// n complex numbers as memory has them, times as many; of the conjugates of the first, and to the
/// conjugates of the products, where that is asked.
template <class T>
static void multiply_row(const T* x, const T* by, std::size_t n, bool of_conjugates,
                         bool to_conjugates, T* to) {
  using V = typename FftVector<T>::Type;
  constexpr std::size_t width = fft_width<V>;
  const T sign = of_conjugates ? T{-1} : T{1}, sign_behind = to_conjugates ? T{-1} : T{1};
  for (std::size_t k = 0; k < n; k += width) {
    const std::size_t count = n - k < width ? n - k : width;
    Complex<V> a = split(load_neighbours<V>(x + 2 * k, count));
    a.im *= sign;
    Complex<V> product = a * split(load_neighbours<V>(by + 2 * k, count));
    product.im *= sign_behind;
    store_neighbours(to + 2 * k, join(product), count);
  }
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
