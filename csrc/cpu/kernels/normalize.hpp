#pragma once

#include "cpu/kernels/simd.hpp"

namespace tilewright::cpu::TILEWRIGHT_ISA {

template <class T>
static void normalize(const T* x, std::size_t n, float centre, float offset, float factor,
                      const T* weight, const T* bias, T* output, Store how) {
  const auto scaled = [=](auto read) { return ((read(x) - centre) - offset) * factor; };
  if (weight == nullptr && bias == nullptr) return generate(output, n, how, scaled);
  if (weight == nullptr) {
    return generate(output, n, how, [=](auto read) { return scaled(read) + read(bias); });
  }
  if (bias == nullptr) {
    return generate(output, n, how, [=](auto read) { return scaled(read) * read(weight); });
  }
  generate(output, n, how, [=](auto read) { return scaled(read) * read(weight) + read(bias); });
}

template <class T>
static void rotate(const T* x, const T* cos, const T* sin, std::size_t half, float direction,
                   T* output) {
  std::size_t i = 0;
  for (; i + lanes <= half; i += lanes) {
    const Floats c = load(cos + i), s = load(sin + i) * direction;
    const Floats a = load(x + i), b = load(x + half + i);
    store(output + i, a * c - b * s);
    store(output + half + i, b * c + a * s);
  }
  if (const std::size_t rest = half - i; rest != 0) {
    const Floats c = load(cos + i, rest), s = load(sin + i, rest) * direction;
    const Floats a = load(x + i, rest), b = load(x + half + i, rest);
    store(output + i, a * c - b * s, rest);
    store(output + half + i, b * c + a * s, rest);
  }
}

template <class T>
static void rotate_neighbours(const T* x, const T* cos, const T* sin, std::size_t half,
                              float direction, T* output) {
  std::size_t i = 0;
  for (; i + lanes <= half; i += lanes) {
    const Floats c = load(cos + i), s = load(sin + i) * direction;
    const Floats low = load(x + 2 * i), high = load(x + 2 * i + lanes);
    const Floats a = evens(low, high), b = odds(low, high);
    const Floats first = a * c - b * s, second = b * c + a * s;
    store(output + 2 * i, interleave_low(first, second));
    store(output + 2 * i + lanes, interleave_high(first, second));
  }
  for (; i < half; ++i) {
    const Floats c = load(cos + i, 1), s = load(sin + i, 1) * direction;
    const Floats a = load(x + 2 * i, 1), b = load(x + 2 * i + 1, 1);
    store(output + 2 * i, a * c - b * s, 1);
    store(output + 2 * i + 1, b * c + a * s, 1);
  }
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
