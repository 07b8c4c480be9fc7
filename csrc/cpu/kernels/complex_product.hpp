#pragma once

#include "cpu/kernels/fft_lanes.hpp"

/// Products of complex numbers as memory has them.
namespace tilewright::cpu::TILEWRIGHT_ISA {

/// Keeps a product from being joined with a sum into one rounding: x times its conjugate is real.
template <class V>
static inline V rounded_product(V a, V b) {
  V product = a * b;
#if defined(__x86_64__)
  asm("" : "+v"(product));
#elif defined(__aarch64__)
  asm("" : "+w"(product));
#endif
  return product;
}

template <class V>
static inline Packed<V> multiply_packed(Packed<V> x, Packed<V> y) {
  const Complex<V> a = split(x), b = split(y);
  return join(Complex<V>{rounded_product(a.re, b.re) - rounded_product(a.im, b.im),
                         rounded_product(a.re, b.im) + rounded_product(a.im, b.re)});
}

template <class V, class T>
static void multiply_pairs(const void* x, const void* y, void* out, std::size_t n, bool streaming) {
  constexpr std::size_t width = sizeof(V) / sizeof(T);
  const T* const a = static_cast<const T*>(x);
  const T* const b = static_cast<const T*>(y);
  T* const to = static_cast<T*>(out);
  const auto product = [](const T* first, const T* second) {
    return multiply_packed(Packed<V>{load_bits<V>(first), load_bits<V>(first + width)},
                           Packed<V>{load_bits<V>(second), load_bits<V>(second + width)});
  };
  const bool streams = streaming && reinterpret_cast<std::uintptr_t>(to) % sizeof(V) == 0;
  std::size_t i = 0;
  for (; i + width <= n; i += width) {
    const Packed<V> found = product(a + 2 * i, b + 2 * i);
    if (streams) {
      stream(reinterpret_cast<float*>(to + 2 * i), (Floats)found.low);
      stream(reinterpret_cast<float*>(to + 2 * i + width), (Floats)found.high);
    } else {
      __builtin_memcpy(to + 2 * i, &found, sizeof found);
    }
  }
  if (streams) stream_fence();
  if (i == n) return;
  T first[2 * width] = {}, second[2 * width] = {};
  const std::size_t bytes = 2 * (n - i) * sizeof(T);
  __builtin_memcpy(first, a + 2 * i, bytes);
  __builtin_memcpy(second, b + 2 * i, bytes);
  const Packed<V> found = product(first, second);
  __builtin_memcpy(to + 2 * i, &found, bytes);
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
