#pragma once

#include "cpu/kernels/fft_radix.hpp"
#include "cpu/kernels/fft_table.hpp"

/// Between lines in memory and vectors that hold the same number of several lines. Numbers in
/// memory are `width` to two vectors, the lines in an order that only split() and join() know.
namespace tilewright::cpu::TILEWRIGHT_ISA {

template <class T>
struct FftVector {
  using Type = Floats;
};
template <>
struct FftVector<double> {
  using Type = Doubles;
};

template <class V>
constexpr std::size_t fft_width = lanes;
template <>
inline constexpr std::size_t fft_width<Doubles> = lanes / 2;

/// `width` complex numbers as memory has them.
template <class V>
struct Packed {
  V low, high;
};

FFT_INLINE Complex<Floats> split(Packed<Floats> x) {
#if defined(__AVX512F__)
  return {__builtin_shufflevector(x.low, x.high, 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14,
                                  28, 30),
          __builtin_shufflevector(x.low, x.high, 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15,
                                  29, 31)};
#elif defined(__AVX2__)
  return {__builtin_shufflevector(x.low, x.high, 0, 2, 8, 10, 4, 6, 12, 14),
          __builtin_shufflevector(x.low, x.high, 1, 3, 9, 11, 5, 7, 13, 15)};
#else
  return {__builtin_shufflevector(x.low, x.high, 0, 2, 4, 6),
          __builtin_shufflevector(x.low, x.high, 1, 3, 5, 7)};
#endif
}

FFT_INLINE Packed<Floats> join(Complex<Floats> x) {
#if defined(__AVX512F__)
  return {
      __builtin_shufflevector(x.re, x.im, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29),
      __builtin_shufflevector(x.re, x.im, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15,
                              31)};
#elif defined(__AVX2__)
  return {__builtin_shufflevector(x.re, x.im, 0, 8, 1, 9, 4, 12, 5, 13),
          __builtin_shufflevector(x.re, x.im, 2, 10, 3, 11, 6, 14, 7, 15)};
#else
  return {__builtin_shufflevector(x.re, x.im, 0, 4, 1, 5),
          __builtin_shufflevector(x.re, x.im, 2, 6, 3, 7)};
#endif
}

FFT_INLINE Doubles even_of(Doubles a, Doubles b) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
#elif defined(__AVX2__)
  return __builtin_shufflevector(a, b, 0, 4, 2, 6);
#else
  return __builtin_shufflevector(a, b, 0, 2);
#endif
}

FFT_INLINE Doubles odd_of(Doubles a, Doubles b) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
#elif defined(__AVX2__)
  return __builtin_shufflevector(a, b, 1, 5, 3, 7);
#else
  return __builtin_shufflevector(a, b, 1, 3);
#endif
}

FFT_INLINE Complex<Doubles> split(Packed<Doubles> x) {
  return {even_of(x.low, x.high), odd_of(x.low, x.high)};
}
FFT_INLINE Packed<Doubles> join(Complex<Doubles> x) {
  return {even_of(x.re, x.im), odd_of(x.re, x.im)};
}

/// Transposes a square of pairs of doubles, a row in each vector; rows are `step` vectors apart.
template <std::size_t step>
FFT_INLINE void transpose_pairs(Doubles* rows) {
#if defined(__AVX512F__)
  const Doubles v0 = rows[0], v1 = rows[step], v2 = rows[2 * step], v3 = rows[3 * step];
  const Doubles a = __builtin_shufflevector(v0, v1, 0, 1, 4, 5, 8, 9, 12, 13);
  const Doubles b = __builtin_shufflevector(v0, v1, 2, 3, 6, 7, 10, 11, 14, 15);
  const Doubles c = __builtin_shufflevector(v2, v3, 0, 1, 4, 5, 8, 9, 12, 13);
  const Doubles d = __builtin_shufflevector(v2, v3, 2, 3, 6, 7, 10, 11, 14, 15);
  rows[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5, 8, 9, 12, 13);
  rows[step] = __builtin_shufflevector(b, d, 0, 1, 4, 5, 8, 9, 12, 13);
  rows[2 * step] = __builtin_shufflevector(a, c, 2, 3, 6, 7, 10, 11, 14, 15);
  rows[3 * step] = __builtin_shufflevector(b, d, 2, 3, 6, 7, 10, 11, 14, 15);
#elif defined(__AVX2__)
  const Doubles v0 = rows[0], v1 = rows[step];
  rows[0] = __builtin_shufflevector(v0, v1, 0, 1, 4, 5);
  rows[step] = __builtin_shufflevector(v0, v1, 2, 3, 6, 7);
#else
  (void)rows;
#endif
}

/// Transposes a square of complex numbers, a row in each vector.
template <class V>
FFT_INLINE void transpose(V* rows) {
  constexpr std::size_t size = fft_width<V> / 2;
  Doubles x[size];
  if constexpr (sizeof(rows[0][0]) == 8) {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < size; ++i) x[i] = rows[i];
    transpose_pairs<1>(x);
  } else {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < size; i += 2) {
      x[i] = even_of((Doubles)rows[i], (Doubles)rows[i + 1]);
      x[i + 1] = odd_of((Doubles)rows[i], (Doubles)rows[i + 1]);
    }
    transpose_pairs<2>(x);
    transpose_pairs<2>(x + 1);
  }
#pragma GCC unroll 8
  for (std::size_t i = 0; i < size; ++i) rows[i] = (V)x[i];
}

// Part of a vector: the first `count` elements, an even number; the others are 0.

FFT_INLINE Floats load_part(const float* from, std::size_t count) {
#if defined(__AVX512F__)
  return (Floats)_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), from);
#elif defined(__AVX2__)
  constexpr Ints places = {0, 1, 2, 3, 4, 5, 6, 7};
  return (Floats)_mm256_maskload_ps(from, (__m256i)(places < static_cast<std::int32_t>(count)));
#else
  Floats x{};
  if (count == 4) return load(from);
  if (count == 2) __builtin_memcpy(&x, from, 8);
  return x;
#endif
}
FFT_INLINE Doubles load_part(const double* from, std::size_t count) {
#if defined(__AVX512F__)
  return (Doubles)_mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << count) - 1), from);
#elif defined(__AVX2__)
  constexpr Longs places = {0, 1, 2, 3};
  return (Doubles)_mm256_maskload_pd(from, (__m256i)(places < count));
#else
  return count == 2 ? load_bits<Doubles>(from) : Doubles{};
#endif
}
FFT_INLINE void store_part(float* to, Floats x, std::size_t count) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1u << count) - 1), (__m512)x);
#elif defined(__AVX2__)
  constexpr Ints places = {0, 1, 2, 3, 4, 5, 6, 7};
  _mm256_maskstore_ps(to, (__m256i)(places < static_cast<std::int32_t>(count)), (__m256)x);
#else
  if (count == 4) store(to, x);
  if (count == 2) __builtin_memcpy(to, &x, 8);
#endif
}
FFT_INLINE void store_part(double* to, Doubles x, std::size_t count) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_pd(to, static_cast<__mmask8>((1u << count) - 1), (__m512d)x);
#elif defined(__AVX2__)
  constexpr Longs places = {0, 1, 2, 3};
  _mm256_maskstore_pd(to, (__m256i)(places < count), (__m256d)x);
#else
  if (count == 2) __builtin_memcpy(to, &x, 16);
#endif
}

/// Neighbours in memory: `count` of up to a whole block.
template <class V, class T>
FFT_INLINE Packed<V> load_neighbours(const T* from, std::size_t count) {
  constexpr std::size_t width = fft_width<V>;
  if (count == width) return {load_bits<V>(from), load_bits<V>(from + width)};
  const std::size_t low = 2 * count < width ? 2 * count : width;
  return {load_part(from, low), low == width ? load_part(from + width, 2 * count - width) : V{}};
}
template <class V, class T>
FFT_INLINE void store_neighbours(T* to, Packed<V> x, std::size_t count) {
  constexpr std::size_t width = fft_width<V>;
  if (count == width) {
    __builtin_memcpy(to, &x.low, sizeof(V));
    __builtin_memcpy(to + width, &x.high, sizeof(V));
    return;
  }
  const std::size_t low = 2 * count < width ? 2 * count : width;
  store_part(to, x.low, low);
  if (low == width) store_part(to + width, x.high, 2 * count - width);
}

/// One number of each line, from anywhere.
template <class V, class T>
FFT_INLINE Packed<V> gather(const T* const* from, std::size_t at) {
  constexpr std::size_t half = fft_width<V> / 2;
  Packed<V> x;
  T numbers[2][2 * half];
#pragma GCC unroll 16
  for (std::size_t i = 0; i < 2 * half; ++i) {
    __builtin_memcpy(&numbers[i / half][i % half * 2], from[i] + at, 2 * sizeof(T));
  }
  __builtin_memcpy(&x.low, numbers[0], sizeof(V));
  __builtin_memcpy(&x.high, numbers[1], sizeof(V));
  return x;
}
template <class V, class T>
FFT_INLINE void scatter(Packed<V> x, T* const* to, std::size_t at, std::size_t count) {
  constexpr std::size_t width = fft_width<V>;
  T numbers[2 * width];
  __builtin_memcpy(numbers, &x.low, sizeof(V));
  __builtin_memcpy(numbers + width, &x.high, sizeof(V));
  for (std::size_t i = 0; i < count; ++i) {
    __builtin_memcpy(to[i] + at, numbers + 2 * i, 2 * sizeof(T));
  }
}

// By parts: as a whole GCC copies them 16 bytes at a time, which stalls what reads them next.
template <class V>
FFT_INLINE Complex<V> get(const Complex<V>& from) {
  return {from.re, from.im};
}
template <class V>
FFT_INLINE void put(Complex<V>& to, Complex<V> x) {
  to.re = x.re;
  to.im = x.im;
}

/// Rows mostly follow each other, and then this is what the next block reads or writes.
template <int write, class T>
FFT_INLINE void prefetch(const T* from, std::size_t bytes) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(from) + bytes),
                     write);
}

/// n numbers of each line, which follow each other in memory.
template <class V, class T>
FFT_INLINE void load_rows(const T* const* from, std::size_t n, Complex<V>* to) {
  constexpr std::size_t size = fft_width<V> / 2;
  const std::size_t ahead = fft_width<V> * n * 2 * sizeof(T);
  std::size_t k = 0;
  for (; k + size <= n; k += size) {
    V low[size], high[size];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < size; ++i) {
      low[i] = load_bits<V>(from[i] + 2 * k);
      high[i] = load_bits<V>(from[i + size] + 2 * k);
      prefetch<0>(from[i] + 2 * k, ahead);
      prefetch<0>(from[i + size] + 2 * k, ahead);
    }
    transpose(low);
    transpose(high);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < size; ++i) put(to[k + i], split(Packed<V>{low[i], high[i]}));
  }
  for (; k < n; ++k) put(to[k], split(gather<V>(from, 2 * k)));
}

/// The same way back, of `count` lines; value(k) is number k.
template <class V, class T, class Value>
FFT_INLINE void store_rows(Value value, std::size_t n, T* const* to, std::size_t count) {
  constexpr std::size_t size = fft_width<V> / 2;
  const std::size_t ahead = fft_width<V> * n * 2 * sizeof(T);
  std::size_t k = 0;
  for (; k + size <= n; k += size) {
    V low[size], high[size];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < size; ++i) {
      const Packed<V> x = join(value(k + i));
      low[i] = x.low, high[i] = x.high;
    }
    transpose(low);
    transpose(high);
    if (count == 2 * size) {
#pragma GCC unroll 8
      for (std::size_t i = 0; i < size; ++i) {
        __builtin_memcpy(to[i] + 2 * k, &low[i], sizeof(V));
        __builtin_memcpy(to[i + size] + 2 * k, &high[i], sizeof(V));
        prefetch<1>(to[i] + 2 * k, ahead);
        prefetch<1>(to[i + size] + 2 * k, ahead);
      }
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        __builtin_memcpy(to[i] + 2 * k, i < size ? &low[i] : &high[i - size], sizeof(V));
      }
    }
  }
  for (; k < n; ++k) scatter(join(value(k)), to, 2 * k, count);
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
