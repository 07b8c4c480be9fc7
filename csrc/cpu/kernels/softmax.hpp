#pragma once

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

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
