#pragma once

#include "cpu/kernels/fft.hpp"

/// Real rows of even length are complex ones of half the length h, whose transform z and that of
/// the row, x, come of each other in pairs, k and h - k of them. Those of odd length are complex
/// ones.
namespace tilewright::cpu::TILEWRIGHT_ISA {

/// z at k and h - k becomes x times 2 * scale; w is exp(-2 pi i k / 2h).
template <class V, class S>
FFT_INLINE void unpack(Complex<V>& a, Complex<V>& b, Complex<V> w, S scale) {
  const Complex<V> even{scale * (a.re + b.re), scale * (a.im - b.im)};
  const Complex<V> odd{scale * (a.im + b.im), scale * (b.re - a.re)};
  const Complex<V> turned = odd * w;
  a = even + turned;
  b = {even.re - turned.re, turned.im - even.im};
}

/// x at k and h - k becomes z of the inverse.
template <class V>
FFT_INLINE void pack(Complex<V>& a, Complex<V>& b, Complex<V> w) {
  const Complex<V> even{a.re + b.re, a.im - b.im};
  const Complex<V> odd{-(a.im + b.im), a.re - b.re};
  const Complex<V> turned = odd * Complex<V>{w.re, -w.im};
  a = even + turned;
  b = {even.re - turned.re, turned.im - even.im};
}

/// x at 0 and h, of z at 0, and z at 0 of these.
template <class V>
FFT_INLINE void swap_ends(Complex<V> first, Complex<V>& a, Complex<V>& b) {
  a = {first.re + first.im, V{}};
  b = {first.re - first.im, V{}};
}
template <class V>
FFT_INLINE Complex<V> joined_ends(Complex<V> a, Complex<V> b) {
  return {a.re + b.re, a.re - b.re};
}

template <class V, class T>
FFT_INLINE Complex<V> spread(const T* root) {
  return {root[0] - V{}, root[1] - V{}};
}

/// The lines of a block, h + 1 numbers where x is.
template <class V, class T>
static void unpack_lines(Complex<V>* lines, std::size_t h, const T* roots, T scale) {
  const Complex<V> first{lines[0].re * scale, lines[0].im * scale};
  swap_ends(first, lines[0], lines[h]);
  for (std::size_t k = 1; 2 * k < h; ++k) {
    Complex<V> a = get(lines[k]), b = get(lines[h - k]);
    unpack(a, b, spread<V>(roots + 2 * k), scale / 2);
    put(lines[k], a);
    put(lines[h - k], b);
  }
  if (h % 2 == 0) {
    Complex<V>& half = lines[h / 2];
    half = {half.re * scale, half.im * -scale};
  }
}
template <class V, class T>
static void pack_lines(Complex<V>* lines, std::size_t h, const T* roots) {
  lines[0] = joined_ends(lines[0], lines[h]);
  for (std::size_t k = 1; 2 * k < h; ++k) {
    Complex<V> a = get(lines[k]), b = get(lines[h - k]);
    pack(a, b, spread<V>(roots + 2 * k));
    put(lines[k], a);
    put(lines[h - k], b);
  }
  if (h % 2 == 0) {
    Complex<V>& half = lines[h / 2];
    half = {T{2} * half.re, T{-2} * half.im};
  }
}

/// The numbers of a vector, as split() has them, in the opposite order.
FFT_INLINE Floats reversed(Floats x) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(x, x, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
#elif defined(__AVX2__)
  return __builtin_shufflevector(x, x, 7, 6, 5, 4, 3, 2, 1, 0);
#else
  return __builtin_shufflevector(x, x, 3, 2, 1, 0);
#endif
}
FFT_INLINE Doubles reversed(Doubles x) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(x, x, 7, 6, 5, 4, 3, 2, 1, 0);
#elif defined(__AVX2__)
  return __builtin_shufflevector(x, x, 3, 2, 1, 0);
#else
  return __builtin_shufflevector(x, x, 1, 0);
#endif
}
template <class V>
FFT_INLINE Complex<V> reversed(Complex<V> x) {
  return {reversed(x.re), reversed(x.im)};
}

/// One row: pair(a, b, w) for the numbers of `from` at k and h - k, into `to`, 0 < 2 k < h.
template <class T, class Pair>
FFT_INLINE void each_pair(const T* from, std::size_t h, const T* roots, T* to, Pair pair) {
  using V = typename FftVector<T>::Type;
  constexpr std::size_t width = fft_width<V>;
  std::size_t k = 1;
  for (; 2 * (k + width - 1) < h; k += width) {
    const std::size_t back = h - k - width + 1;
    Complex<V> a = split(load_neighbours<V>(from + 2 * k, width));
    Complex<V> b = reversed(split(load_neighbours<V>(from + 2 * back, width)));
    pair(a, b, split(load_neighbours<V>(roots + 2 * k, width)));
    store_neighbours(to + 2 * k, join(a), width);
    store_neighbours(to + 2 * back, join(reversed(b)), width);
  }
  for (; 2 * k < h; ++k) {
    Complex<T> a{from[2 * k], from[2 * k + 1]}, b{from[2 * (h - k)], from[2 * (h - k) + 1]};
    pair(a, b, Complex<T>{roots[2 * k], roots[2 * k + 1]});
    to[2 * k] = a.re, to[2 * k + 1] = a.im;
    to[2 * (h - k)] = b.re, to[2 * (h - k) + 1] = b.im;
  }
}

template <class T>
static void unpack_row(const T* from, std::size_t h, const T* roots, T scale, T* to) {
  to[0] = (from[0] + from[1]) * scale;
  to[2 * h] = (from[0] - from[1]) * scale;
  to[1] = to[2 * h + 1] = 0;
  each_pair(from, h, roots, to, [scale](auto& a, auto& b, auto w) __attribute__((always_inline)) {
    unpack(a, b, w, scale / 2);
  });
  if (h % 2 == 0) {
    to[h] = from[h] * scale;
    to[h + 1] = from[h + 1] * -scale;
  }
}
template <class T>
static void pack_row(const T* from, std::size_t h, const T* roots, T* to) {
  to[0] = from[0] + from[2 * h];
  to[1] = from[0] - from[2 * h];
  each_pair(from, h, roots, to,
            [](auto& a, auto& b, auto w) __attribute__((always_inline)) { pack(a, b, w); });
  if (h % 2 == 0) {
    to[h] = 2 * from[h];
    to[h + 1] = -2 * from[h + 1];
  }
}

template <class T>
static void mirror_row(const T* from, std::size_t n, T* to) {
  to[0] = from[0];
  to[1] = 0;
  for (std::size_t k = 1; k <= n / 2; ++k) {
    to[2 * k] = to[2 * (n - k)] = from[2 * k];
    to[2 * k + 1] = from[2 * k + 1];
    to[2 * (n - k) + 1] = -from[2 * k + 1];
  }
}

/// All passes over the numbers in `from`; gives where they end, there or in `to`, behind which
/// there is room for a convolution.
template <class V, class T>
static Complex<V>* run_passes(const FftRealRows<T>& l, std::size_t n, std::size_t root_step,
                              Complex<V>* from, Complex<V>* to) {
  std::size_t done = 1, step = n * root_step;
  if (l.convolution.n != 0) {
    convolve<V>(l.convolution, from, to, n / l.convolution.n, to + n + 1);
    done = l.convolution.n;
    step /= done;
    Complex<V>* const swapped = from;
    from = to;
    to = swapped;
  }
  for (std::size_t i = 0; i < l.passes; ++i) {
    const std::size_t radix = l.radices[i];
    step /= radix;
    run_pass<V>(radix, FromBuffer<V>{from}, ToBuffer<V>{to}, l.roots, step, done, n / done / radix);
    done *= radix;
    Complex<V>* const swapped = from;
    from = to;
    to = swapped;
  }
  return from;
}

template <class V, class T>
struct RealBlock {
  static constexpr std::size_t width = fft_width<V>;
  const T* from[width];
  T* to[width];
  std::size_t count;

  /// Rows from one on; those that there are fewer of than a vector holds repeat the first.
  RealBlock(const FftRealRows<T>& l, std::size_t row) {
    count = l.rows - row < width ? l.rows - row : width;
    const std::size_t of_real = l.n, of_complex = 2 * (l.n / 2 + 1);
    for (std::size_t i = 0; i < width; ++i) {
      const std::size_t at = row + (i < count ? i : 0);
      from[i] = l.input + at * (l.inverse ? of_complex : of_real);
      to[i] = l.output + at * (l.inverse ? of_real : of_complex);
    }
  }
};

template <class T>
static void even_block(const FftRealRows<T>& l, std::size_t number, T* scratch) {
  using V = typename FftVector<T>::Type;
  const std::size_t h = l.n / 2;
  const RealBlock<V, T> block(l, number * fft_width<V>);
  auto* const from = reinterpret_cast<Complex<V>*>(scratch);
  Complex<V>* const to = from + h + 1;
  if (l.inverse) {
    load_rows<V>(block.from, h + 1, from);
    pack_lines(from, h, l.roots);
    const Complex<V>* const z = run_passes(l, h, 2, from, to);
    const T scale = l.scale;
    store_rows<V>(
        [=](std::size_t k) __attribute__((always_inline)) {
          const Complex<V> x = get(z[place_of(k, h, true)]);
          return Complex<V>{x.re * scale, x.im * scale};
        },
        h, block.to, block.count);
  } else {
    load_rows<V>(block.from, h, from);
    Complex<V>* const x = run_passes(l, h, 2, from, to);
    unpack_lines(x, h, l.roots, l.scale);
    store_rows<V>([=](std::size_t k) __attribute__((always_inline)) { return get(x[k]); }, h + 1,
                  block.to, block.count);
  }
}

/// One real number of each row, from number k on of a row of `from`, and back.
template <class V, class T>
FFT_INLINE V gather_real(const T* const* from, std::size_t k) {
  constexpr std::size_t width = fft_width<V>;
  T numbers[2 * width] = {};
  for (std::size_t i = 0; i < width; ++i) numbers[2 * i] = from[i][k];
  return split(load_neighbours<V>(numbers, width)).re;
}
template <class V, class T>
FFT_INLINE void scatter_real(V x, T* const* to, std::size_t k, std::size_t count) {
  constexpr std::size_t width = fft_width<V>;
  T numbers[2 * width];
  store_neighbours(numbers, join(Complex<V>{x, x}), width);
  for (std::size_t i = 0; i < count; ++i) to[i][k] = numbers[2 * i];
}

template <class T>
static void odd_block(const FftRealRows<T>& l, std::size_t number, T* scratch) {
  using V = typename FftVector<T>::Type;
  const std::size_t n = l.n, half = n / 2;
  const RealBlock<V, T> block(l, number * fft_width<V>);
  auto* const from = reinterpret_cast<Complex<V>*>(scratch);
  Complex<V>* const to = from + n + 1;
  const T scale = l.scale;
  if (l.inverse) {
    load_rows<V>(block.from, half + 1, from);
    from[0].im = V{};
    for (std::size_t k = 1; k <= half; ++k) from[n - k] = {from[k].re, -from[k].im};
    const Complex<V>* const z = run_passes(l, n, 1, from, to);
    store_rows<V>(
        [=](std::size_t k) __attribute__((always_inline)) {
          return Complex<V>{z[place_of(2 * k, n, true)].re * scale, z[n - 2 * k - 1].re * scale};
        },
        half, block.to, block.count);
    scatter_real(z[1 % n].re * scale, block.to, n - 1, block.count);
  } else {
    load_rows<V>(block.from, half, to);
    for (std::size_t k = 0; k < half; ++k) {
      from[2 * k] = {to[k].re, V{}};
      from[2 * k + 1] = {to[k].im, V{}};
    }
    from[n - 1] = {gather_real<V>(block.from, n - 1), V{}};
    const Complex<V>* const x = run_passes(l, n, 1, from, to);
    store_rows<V>(
        [=](std::size_t k)
            __attribute__((always_inline)) { return Complex<V>{x[k].re * scale, x[k].im * scale}; },
        half + 1, block.to, block.count);
  }
}

template <class T>
static void transform_real(const FftRealRows<T>& l, std::size_t begin, std::size_t end,
                           T* scratch) {
  for (std::size_t number = begin; number < end; ++number) {
    l.n % 2 == 0 ? even_block(l, number, scratch) : odd_block(l, number, scratch);
  }
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
