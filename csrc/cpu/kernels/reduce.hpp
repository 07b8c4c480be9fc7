#pragma once

#include "cpu/kernels/binary.hpp"

namespace tilewright::cpu::TILEWRIGHT_ISA {

static inline Doubles widened_sum(Floats x) { return widen_low(x) + widen_high(x); }
#if defined(__AVX512F__)
static inline Doubles widened_sum(Streamed<float>::Vector x) {
  return (Doubles)_mm512_cvtps_pd((__m256)x);
}
#endif

static inline double sum_of(Doubles x) {
#if defined(__AVX512F__)
  x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
  x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5);
#elif defined(__AVX2__)
  x += __builtin_shufflevector(x, x, 2, 3, 0, 1);
#endif
  return x[0] + x[1];
}

/// The sum of value() over the n elements of x, where value(fill) is 0, by vectors of this kind.
/// Short runs are added in float32 and the runs in float64, so that the error does not grow with n.
template <class Vector, class T, class Value>
static inline double accumulate(const T* x, std::size_t n, Value value, float fill = 0) {
  constexpr std::size_t width = sizeof(Vector) / sizeof(float), step = 4 * width, run = 16 * step;
  Doubles total{};
  std::size_t i = 0;
  while (i + step <= n) {
    const std::size_t end = i + run < n ? i + run : n;
    Vector a{}, b{}, c{}, d{};
    for (; i + step <= end; i += step) {
      a += value(load_as<Vector>(x + i));
      b += value(load_as<Vector>(x + i + width));
      c += value(load_as<Vector>(x + i + 2 * width));
      d += value(load_as<Vector>(x + i + 3 * width));
    }
    total += widened_sum((a + b) + (c + d));
  }
  if (i == n) return sum_of(total);
  Floats rest{};
  for (; i + lanes <= n; i += lanes) rest += value(load(x + i));
  if (i < n) rest += value(load(x + i, n - i, fill));
  return sum_of(total + widened_sum(rest));
}

template <class T>
static double sum(const T* x, std::size_t n) {
  return accumulate<typename Streamed<T>::Vector>(x, n, [](auto value) { return value; });
}

template <class T>
static double sum_of_squares(const T* x, std::size_t n) {
  return accumulate<typename Streamed<T>::Vector>(x, n, [](auto value) { return value * value; });
}

template <class T>
static Deviations deviations(const T* x, std::size_t n, float centre) {
  constexpr std::size_t run = 16 * lanes;
  Doubles sums{}, squares{};
  for (std::size_t i = 0; i < n;) {
    const std::size_t end = i + run < n ? i + run : n;
    Floats sum{}, square{}, odd_sum{}, odd_square{};
    const auto add = [&](Floats value, Floats& to_sum, Floats& to_square) {
      const Floats d = value - centre;
      to_sum += d;
      to_square += d * d;
    };
    for (; i + 2 * lanes <= end; i += 2 * lanes) {
      add(load(x + i), sum, square);
      add(load(x + i + lanes), odd_sum, odd_square);
    }
    if (i + lanes <= end) {
      add(load(x + i), sum, square);
      i += lanes;
    }
    if (i < end) {
      add(load(x + i, end - i, centre), odd_sum, odd_square);
      i = end;
    }
    sums += widened_sum(sum + odd_sum);
    squares += widened_sum(square + odd_square);
  }
  return {sum_of(sums), sum_of(squares)};
}

/// The first of n > 0 elements in the order of choose(a, b), which need not know of NaN: what is
/// NaN has a larger magnitude than infinity, and those are compared as integers beside. An element
/// may be looked at twice, so the end needs no mask.
template <class T, class Choose>
static inline float pick(const T* x, std::size_t n, Choose choose) {
  using Vector = typename Streamed<T>::Vector;
  using Bits = typename Streamed<T>::Bits;
  constexpr std::size_t width = sizeof(Vector) / sizeof(float);
  constexpr std::int32_t magnitude = 0x7fffffff, infinite = 0x7f800000;
  const auto first_of = [=](auto best, auto size) {
    if (any(size > infinite)) return __builtin_nanf("");
    float first = best[0];
    for (std::size_t j = 1; j < sizeof(best) / sizeof(float); ++j) first = choose(best[j], first);
    return first;
  };
  if (n < width) {
    const Floats few = load(x, n, load(x, 1)[0]);
    return first_of(few, (Ints)few & magnitude);
  }
  const auto see = [=](Vector value, Vector& best, Bits& size) {
    const Bits own = (Bits)value & magnitude;
    best = choose(value, best);
    size = own > size ? own : size;
  };
  Vector a = load_as<Vector>(x), b = a, c = a, d = a;
  Bits size = (Bits)a & magnitude, other = size;
  std::size_t i = 0;
  for (; i + 4 * width <= n; i += 4 * width) {
    see(load_as<Vector>(x + i), a, size);
    see(load_as<Vector>(x + i + width), b, other);
    see(load_as<Vector>(x + i + 2 * width), c, size);
    see(load_as<Vector>(x + i + 3 * width), d, other);
  }
  for (; i + width <= n; i += width) see(load_as<Vector>(x + i), b, other);
  see(load_as<Vector>(x + n - width), a, size);
  return first_of(choose(choose(a, b), choose(c, d)), other > size ? other : size);
}

template <class T>
static float max(const T* x, std::size_t n) {
  return pick(x, n, [](auto a, auto b) { return a > b ? a : b; });
}

template <class T>
static float min(const T* x, std::size_t n) {
  return pick(x, n, [](auto a, auto b) { return a < b ? a : b; });
}

/// Calls body(j, read) for the vectors of a row of `width`.
template <class Body>
static inline void along(std::size_t width, Body body) {
  std::size_t j = 0;
  for (; j + lanes <= width; j += lanes) body(j, ReadWhole{j});
  if (j < width) body(j, ReadPart{j, width - j});
}

static inline void add_to(double* acc, Floats x) {
  const Doubles low = load_bits<Doubles>(acc) + widen_low(x);
  const Doubles high = load_bits<Doubles>(acc + lanes / 2) + widen_high(x);
  __builtin_memcpy(acc, &low, sizeof low);
  __builtin_memcpy(acc + lanes / 2, &high, sizeof high);
}

/// acc[j] += the sum of value(read, row, j): eight rows in float32, all in float64.
template <class T, class Value>
static inline void accumulate_rows(const T* x, std::size_t rows, std::size_t stride,
                                   std::size_t width, double* acc, Value value) {
  std::size_t i = 0;
  for (; i + 8 <= rows; i += 8) {
    const T* row = x + i * stride;
    along(width, [=](std::size_t j, auto read) {
      const auto two = [&](std::size_t r) {
        return value(read, row + r * stride, j) + value(read, row + (r + 1) * stride, j);
      };
      add_to(acc + j, (two(0) + two(2)) + (two(4) + two(6)));
    });
  }
  for (; i < rows; ++i) {
    along(width,
          [=](std::size_t j, auto read) { add_to(acc + j, value(read, x + i * stride, j)); });
  }
}

template <class T>
static void add_rows(const T* x, std::size_t rows, std::size_t stride, std::size_t width,
                     double* acc) {
  accumulate_rows(x, rows, stride, width, acc,
                  [](auto read, const T* row, std::size_t) { return read(row); });
}

template <class T, class Choose>
static inline void pick_rows(const T* x, std::size_t rows, std::size_t stride, std::size_t width,
                             float* acc, Choose choose) {
  std::size_t i = 0;
  for (; i + 8 <= rows; i += 8) {
    const T* row = x + i * stride;
    along(width, [=](std::size_t j, auto read) {
      const auto two = [&](std::size_t r) {
        return choose(read(row + r * stride), read(row + (r + 1) * stride));
      };
      store(acc + j, choose(load(acc + j), choose(choose(two(0), two(2)), choose(two(4), two(6)))));
    });
  }
  for (; i < rows; ++i) {
    const T* row = x + i * stride;
    along(width,
          [=](std::size_t j, auto read) { store(acc + j, choose(load(acc + j), read(row))); });
  }
}

template <class T>
static void max_rows(const T* x, std::size_t rows, std::size_t stride, std::size_t width,
                     float* acc) {
  pick_rows(x, rows, stride, width, acc, [](Floats a, Floats b) { return max_of(a, b); });
}

template <class T>
static void min_rows(const T* x, std::size_t rows, std::size_t stride, std::size_t width,
                     float* acc) {
  pick_rows(x, rows, stride, width, acc, [](Floats a, Floats b) { return min_of(a, b); });
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
