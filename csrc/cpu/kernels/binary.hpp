#pragma once

#include "cpu/kernels/math.hpp"

namespace tilewright::cpu::TILEWRIGHT_ISA {

/// The larger; NaN where either is.
static inline Floats max_of(Floats a, Floats b) {
  const Floats larger = a > b ? a : b;
  return a == a ? larger : a;
}

static inline Floats min_of(Floats a, Floats b) {
  const Floats smaller = a < b ? a : b;
  return a == a ? smaller : a;
}

template <class T, class Function>
static inline void map_pairs(Operand<T> a, Operand<T> b, T* output, std::size_t n, Store how,
                             Function function) {
  if (!a.scalar && !b.scalar) {
    return generate(output, n, how,
                    [=](auto read) { return function(read(a.data), read(b.data)); });
  }
  T first[lanes];
  for (T& x : first) x = a.scalar ? *a.data : *b.data;
  const Floats all = load(first);
  if (a.scalar && b.scalar) {
    for (T& x : first) x = *b.data;
    const Floats result = function(all, load(first));
    return generate(output, n, how, [=](auto) { return result; });
  }
  if (a.scalar) {
    return generate(output, n, how, [=](auto read) { return function(all, read(b.data)); });
  }
  generate(output, n, how, [=](auto read) { return function(read(a.data), all); });
}

template <class T>
static void binary(BinaryOp op, Operand<T> a, Operand<T> b, T* output, std::size_t n, Store how) {
  const auto map = [=](auto function) { map_pairs(a, b, output, n, how, function); };
  switch (op) {
    case BinaryOp::add:
      return map([](Floats x, Floats y) { return x + y; });
    case BinaryOp::sub:
      return map([](Floats x, Floats y) { return x - y; });
    case BinaryOp::mul:
      return map([](Floats x, Floats y) { return x * y; });
    case BinaryOp::div:
      return map([](Floats x, Floats y) { return x / y; });
    case BinaryOp::max:
      return map([](Floats x, Floats y) { return max_of(x, y); });
    case BinaryOp::min:
      return map([](Floats x, Floats y) { return min_of(x, y); });
    case BinaryOp::pow:
      return map([](Floats x, Floats y) { return pow(x, y); });
  }
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
