#pragma once

#include "cpu/kernels/binary.hpp"

namespace tilewright::cpu::TILEWRIGHT_ISA {

static inline Doubles widened_sum(Floats x) { return widen_low(x) + widen_high(x); }

static inline double sum_of(Doubles x) {
#if defined(__AVX512F__)
  x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
  x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5);
#elif defined(__AVX2__)
  x += __builtin_shufflevector(x, x, 2, 3, 0, 1);
#endif
  return x[0] + x[1];
}

/// The sum of value() over the n elements of x, where value(fill) is 0. Short runs are added in
/// float32 and the runs in float64, so that the error does not grow with n.
template <class T, class Value>
static inline double accumulate(const T* x, std::size_t n, Value value, float fill = 0) {
  constexpr std::size_t step = 4 * lanes, run = 16 * step;
  Doubles total{};
  std::size_t i = 0;
  while (i + step <= n) {
    const std::size_t end = i + run < n ? i + run : n;
    Floats a{}, b{}, c{}, d{};
    for (; i + step <= end; i += step) {
      a += value(load_streamed(x + i));
      b += value(load_streamed(x + i + lanes));
      c += value(load_streamed(x + i + 2 * lanes));
      d += value(load_streamed(x + i + 3 * lanes));
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
  return accumulate(x, n, [](Floats value) { return value; });
}

template <class T>
static double sum_of_squares(const T* x, std::size_t n) {
  return accumulate(x, n, [](Floats value) { return value * value; });
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
  constexpr std::int32_t magnitude = 0x7fffffff, infinite = 0x7f800000;
  const auto see = [=](Floats value, Floats& best, Ints& size) {
    const Ints own = (Ints)value & magnitude;
    best = choose(value, best);
    size = own > size ? own : size;
  };
  Floats a = n < lanes ? load(x, n, load(x, 1)[0]) : load(x);
  Ints size = (Ints)a & magnitude;
  if (n > lanes) {
    Floats b = a, c = a, d = a;
    Ints other = size;
    std::size_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      see(load_streamed(x + i), a, size);
      see(load_streamed(x + i + lanes), b, other);
      see(load_streamed(x + i + 2 * lanes), c, size);
      see(load_streamed(x + i + 3 * lanes), d, other);
    }
    for (; i + lanes <= n; i += lanes) see(load(x + i), b, other);
    see(load(x + n - lanes), a, size);
    a = choose(choose(a, b), choose(c, d));
    size = other > size ? other : size;
  }
  if (any(size > infinite)) return __builtin_nanf("");
  for (std::size_t j = 1; j < lanes; ++j) a = choose(splat(a[j]), a);
  return a[0];
}

template <class T>
static float max(const T* x, std::size_t n) {
  return pick(x, n, [](Floats a, Floats b) { return a > b ? a : b; });
}

template <class T>
static float min(const T* x, std::size_t n) {
  return pick(x, n, [](Floats a, Floats b) { return a < b ? a : b; });
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
