#pragma once

#include "cpu/kernels/simd.hpp"

namespace tilewright::cpu::TILEWRIGHT_ISA {

static void round_to_float16(const float* input, float* output, std::size_t n) {
  generate(output, n, Store::cached, [=](auto read) {
    Half halves[lanes];
    store(halves, read(input));
    return load(halves);
  });
}

static void round_to_bfloat16(const float* input, float* output, std::size_t n) {
  generate(output, n, Store::cached, [=](auto read) {
    const Floats x = read(input);
    const Words bits = (Words)x;
    const Words rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
    return x == x ? (Floats)rounded : x;
  });
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
