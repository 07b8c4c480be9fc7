#pragma once

#include "cpu/kernels/math.hpp"

namespace tilewright::cpu::TILEWRIGHT_ISA {

template <class T>
static void unary(UnaryOp op, const T* input, T* output, std::size_t n, Store how) {
  const auto map = [=](auto function) {
    generate(output, n, how, [=](auto read) { return function(read(input)); });
  };
  switch (op) {
    case UnaryOp::relu:
      return map([](Floats x) { return x < 0 ? Floats{} : x; });
    case UnaryOp::sigmoid:
      return map([](Floats x) { return sigmoid(x); });
    case UnaryOp::tanh:
      return map([](Floats x) { return tanh(x); });
    case UnaryOp::exp:
      return map([](Floats x) { return exp(x); });
    case UnaryOp::log:
      return map([](Floats x) { return log(x); });
    case UnaryOp::sqrt:
      return map([](Floats x) { return sqrt(x); });
    case UnaryOp::abs:
      return map([](Floats x) { return abs(x); });
    case UnaryOp::neg:
      return map([](Floats x) { return -x; });
    case UnaryOp::silu:
      return map([](Floats x) { return silu(x); });
    case UnaryOp::gelu:
      return map([](Floats x) { return gelu(x); });
    case UnaryOp::gelu_tanh:
      return map([](Floats x) { return gelu_tanh(x); });
    case UnaryOp::rsqrt:
      return map([](Floats x) { return 1 / sqrt(x); });
    case UnaryOp::reciprocal:
      return map([](Floats x) { return 1 / x; });
    case UnaryOp::square:
      return map([](Floats x) { return x * x; });
  }
}

static void activate(Activation activation, float slope, float* x, std::size_t n) {
  const auto map = [=](auto function) {
    generate(x, n, Store::cached, [=](auto read) { return function(read(x)); });
  };
  const auto as = [=](UnaryOp op) { unary(op, x, x, n, Store::cached); };
  switch (activation) {
    case Activation::none:
      return;
    case Activation::relu:
      return as(UnaryOp::relu);
    case Activation::relu6:
      return map([](Floats v) {
        const Floats low = v < 0 ? Floats{} : v;
        return low > 6 ? splat(6) : low;
      });
    case Activation::leaky_relu:
      return map([=](Floats v) { return v > 0 ? v : v * slope; });
    case Activation::hardswish:
      return map([](Floats v) {
        const Floats bent = v >= 3 ? v : v * (v + 3) * (1.0f / 6);
        return v <= -3 ? Floats{} : bent;
      });
    case Activation::sigmoid:
      return as(UnaryOp::sigmoid);
    case Activation::tanh:
      return as(UnaryOp::tanh);
    case Activation::silu:
      return as(UnaryOp::silu);
    case Activation::gelu:
      return as(UnaryOp::gelu);
    case Activation::gelu_tanh:
      return as(UnaryOp::gelu_tanh);
  }
}

/// Into another type, or the same.
template <class From, class To>
static void copy_as(const From* input, To* output, std::size_t n, Store how) {
  generate(output, n, how, [=](auto read) { return read(input); });
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
