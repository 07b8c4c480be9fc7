#pragma once

#include "cpu/kernels/fold_rows.hpp"
#include "cpu/kernels/reduce.hpp"

namespace tilewright::cpu::TILEWRIGHT_ISA {

template <class T>
static double sum_of_exp(const T* x, std::size_t n, float shift) {
  return accumulate<Floats>(x, n, [=](Floats value) { return exp(value - shift); }, -infinity);
}

template <class T>
static double exp_and_sum(const T* x, std::size_t n, float shift, float* output) {
  generate(output, n, Store::cached, [=](auto read) { return exp(read(x) - shift); });
  return sum(output, n);
}

template <class T>
static void scale_from(const float* x, std::size_t n, float factor, T* output, Store how) {
  generate(output, n, how, [=](auto read) { return read(x) * factor; });
}

template <class T>
static void scaled_exp(const T* x, std::size_t n, float shift, float factor, T* output, Store how) {
  generate(output, n, how, [=](auto read) { return exp(read(x) - shift) * factor; });
}

template <class T>
static void add_exp_rows(const T* x, std::size_t rows, std::size_t stride, std::size_t width,
                         const float* shift, double* acc) {
  accumulate_rows(x, rows, stride, width, acc, [=](auto read, const T* row, std::size_t j) {
    return exp(read(row) - load(shift + j));
  });
}

template <class T>
static void scaled_exp_rows(const T* x, std::size_t rows, std::size_t stride, std::size_t width,
                            const float* shift, const float* factor, T* output) {
  for (std::size_t i = 0; i < rows; ++i) {
    const T* row = x + i * stride;
    generate(output + i * stride, width, Store::cached,
             [=](auto read) { return exp(read(row) - read(shift)) * read(factor); });
  }
}

template <class T>
static void less_both(const T* x, std::size_t n, float first, float second, T* output, Store how) {
  generate(output, n, how, [=](auto read) { return read(x) - first - second; });
}

template <class T>
static void less_both_rows(const T* x, std::size_t rows, std::size_t stride, std::size_t width,
                           const float* first, const float* second, T* output) {
  for (std::size_t i = 0; i < rows; ++i) {
    const T* row = x + i * stride;
    generate(output + i * stride, width, Store::cached,
             [=](auto read) { return read(row) - read(first) - read(second); });
  }
}

/// Four rows of so many vectors at a time, which stay in registers.
template <std::size_t vectors, bool is_log, class T>
static void softmax_of_vectors(const T* x, std::size_t rows, std::size_t n, T* output) {
  constexpr std::size_t whole = (vectors - 1) * lanes;
  const std::size_t rest = n - whole;
  for (std::size_t i = 0; i < rows; i += 4) {
    Floats all[4][vectors], of_row[4], ends{};
    std::size_t at[4];
    float most[4], sums[4];
#pragma GCC unroll 4
    for (std::size_t r = 0; r < 4; ++r) {
      // The last row again where there are none.
      at[r] = (i + r < rows ? i + r : rows - 1) * n;
#pragma GCC unroll 4
      for (std::size_t v = 0; v + 1 < vectors; ++v) all[r][v] = load(x + at[r] + v * lanes);
      const T* const last = x + at[r] + whole;
      all[r][vectors - 1] = rest == lanes ? load(last) : load(last, rest, -infinity);
      of_row[r] = all[r][0];
#pragma GCC unroll 4
      for (std::size_t v = 1; v < vectors; ++v) of_row[r] = JoinLargest::of(of_row[r], all[r][v]);
    }
    join_four<JoinLargest>(of_row, most);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < 4; ++r) {
      of_row[r] = Floats{};
#pragma GCC unroll 4
      for (std::size_t v = 0; v < vectors; ++v) {
        const Floats power = exp(all[r][v] - most[r]);
        of_row[r] += power;
        if constexpr (!is_log) all[r][v] = power;
      }
    }
    join_four<JoinSum>(of_row, sums);
    __builtin_memcpy(&ends, sums, sizeof sums);
    ends = is_log ? log(ends) : 1 / ends;
#pragma GCC unroll 4
    for (std::size_t r = 0; r < 4; ++r) {
#pragma GCC unroll 4
      for (std::size_t v = 0; v < vectors; ++v) {
        const Floats value = is_log ? all[r][v] - most[r] - ends[r] : all[r][v] * ends[r];
        T* const to = output + at[r] + v * lanes;
        v + 1 < vectors ? store(to, value) : store_up_to(to, value, rest);
      }
    }
  }
}

template <class T>
static void softmax_short_rows(const T* x, std::size_t rows, std::size_t n, bool is_log,
                               T* output) {
  const auto with = [=]<std::size_t vectors>() {
    const auto of =
        is_log ? softmax_of_vectors<vectors, true, T> : softmax_of_vectors<vectors, false, T>;
    of(x, rows, n, output);
  };
  if (n <= lanes) return with.template operator()<1>();
  if (n <= 2 * lanes) return with.template operator()<2>();
  if (n <= 3 * lanes) return with.template operator()<3>();
  with.template operator()<4>();
}

/// Columns of `length` elements, a vector of them at a time, which stay in registers.
template <std::size_t length, bool is_log, class T>
static void softmax_of_columns(const T* x, std::size_t stride, std::size_t width, T* output) {
  const auto walk = [=](auto read, const auto& write) {
    Floats all[length], most, sum{};
#pragma GCC unroll 8
    for (std::size_t i = 0; i < length; ++i) {
      all[i] = read(x + i * stride);
      most = i == 0 ? all[0] : JoinLargest::of(most, all[i]);
    }
#pragma GCC unroll 8
    for (std::size_t i = 0; i < length; ++i) {
      all[i] -= most;
      const Floats power = length == 1 ? all[i] + 1 : exp(all[i]);
      sum += power;
      if constexpr (!is_log) all[i] = power;
    }
    const Floats end = is_log ? log(sum) : 1 / sum;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < length; ++i) {
      write(output + i * stride, is_log ? all[i] - end : all[i] * end);
    }
  };
  std::size_t j = 0;
  for (; j + lanes <= width; j += lanes) {
    walk(ReadWhole{j}, [=](T* to, Floats value) { store(to + j, value); });
  }
  const std::size_t rest = width - j;
  if (rest == 0) return;
  walk(ReadPart{j, rest}, [=](T* to, Floats value) { store(to + j, value, rest); });
}

template <class T>
static void softmax_short_columns(const T* x, std::size_t length, std::size_t stride,
                                  std::size_t width, bool is_log, T* output) {
  const auto with = [=]<std::size_t count>() {
    const auto of =
        is_log ? softmax_of_columns<count, true, T> : softmax_of_columns<count, false, T>;
    of(x, stride, width, output);
  };
  switch (length) {
    case 1:
      return with.template operator()<1>();
    case 2:
      return with.template operator()<2>();
    case 3:
      return with.template operator()<3>();
    case 4:
      return with.template operator()<4>();
    case 5:
      return with.template operator()<5>();
    case 6:
      return with.template operator()<6>();
    case 7:
      return with.template operator()<7>();
    default:
      return with.template operator()<8>();
  }
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
