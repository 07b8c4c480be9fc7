#pragma once

#include "cpu/kernels/binary.hpp"

namespace tilewright::cpu::TILEWRIGHT_ISA {

static inline Doubles widened_sum(Floats x) { return widen_low(x) + widen_high(x); }

static inline double sum_of(Doubles x) {
  double sum = 0;
  for (std::size_t i = 0; i < lanes / 2; ++i) sum += x[i];
  return sum;
}

/// Four places at once are read faster than one, far from the caches: rows are gone through in
/// quarters, whole vectors each. What is left over comes last.
static inline std::size_t quarter_of(std::size_t n) { return n / (4 * lanes) * lanes; }

/// The sum of value(read) over n elements, where lanes past the end give 0. Short runs are added in
/// float32 and the runs in float64, so that the error does not grow with n.
template <class Value>
static inline double accumulate(std::size_t n, Value value) {
  constexpr std::size_t run = 16 * lanes;
  const std::size_t quarter = quarter_of(n);
  Doubles total{};
  for (std::size_t i = 0; i < quarter;) {
    const std::size_t end = i + run < quarter ? i + run : quarter;
    Floats a{}, b{}, c{}, d{};
    for (; i < end; i += lanes) {
      a += value(ReadWhole{i});
      b += value(ReadWhole{i + quarter});
      c += value(ReadWhole{i + 2 * quarter});
      d += value(ReadWhole{i + 3 * quarter});
    }
    total += widened_sum((a + b) + (c + d));
  }
  Floats rest{};
  std::size_t i = 4 * quarter;
  for (; i + lanes <= n; i += lanes) rest += value(ReadWhole{i});
  if (i < n) rest += value(ReadPart{i, n - i});
  return sum_of(total + widened_sum(rest));
}

template <class T>
static double sum(const T* x, std::size_t n) {
  return accumulate(n, [=](auto read) { return read(x); });
}

template <class T>
static double sum_of_squares(const T* x, std::size_t n) {
  return accumulate(n, [=](auto read) {
    const Floats value = read(x);
    return value * value;
  });
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

/// Picks one of n > 0 elements. An element may be looked at twice, so the end needs no mask.
template <class T, class Choose>
static inline float pick(const T* x, std::size_t n, Choose choose) {
  Floats a = n < lanes ? load(x, n, load(x, 1)[0]) : load(x);
  if (n > lanes) {
    Floats b = a, c = a, d = a;
    const std::size_t quarter = quarter_of(n);
    std::size_t i = 0;
    for (; i < quarter; i += lanes) {
      a = choose(a, load(x + i));
      b = choose(b, load(x + i + quarter));
      c = choose(c, load(x + i + 2 * quarter));
      d = choose(d, load(x + i + 3 * quarter));
    }
    for (i = 4 * quarter; i + lanes <= n; i += lanes) b = choose(b, load(x + i));
    a = choose(choose(a, b), choose(choose(c, d), load(x + n - lanes)));
  }
  for (std::size_t j = 1; j < lanes; ++j) a = choose(a, splat(a[j]));
  return a[0];
}

template <class T>
static float max(const T* x, std::size_t n) {
  return pick(x, n, [](Floats a, Floats b) { return max_of(a, b); });
}

template <class T>
static float min(const T* x, std::size_t n) {
  return pick(x, n, [](Floats a, Floats b) { return min_of(a, b); });
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

/// acc[j] += the sum of value(read, row, j): four rows in float32, all in float64.
template <class T, class Value>
static inline void accumulate_rows(const T* x, std::size_t rows, std::size_t stride,
                                   std::size_t width, double* acc, Value value) {
  std::size_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    const T* row = x + i * stride;
    along(width, [=](std::size_t j, auto read) {
      add_to(acc + j, (value(read, row, j) + value(read, row + stride, j)) +
                          (value(read, row + 2 * stride, j) + value(read, row + 3 * stride, j)));
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
  for (; i + 4 <= rows; i += 4) {
    const T* row = x + i * stride;
    along(width, [=](std::size_t j, auto read) {
      const Floats four = choose(choose(read(row), read(row + stride)),
                                 choose(read(row + 2 * stride), read(row + 3 * stride)));
      store(acc + j, choose(load(acc + j), four));
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
