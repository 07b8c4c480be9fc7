#pragma once

#include <array>
#include <cmath>
#include <optional>

#include "core/call.hpp"
#include "core/fft_tables.hpp"
#include "core/requests.hpp"
#include "core/text.hpp"

namespace tilewright {

/// input as [outer, n, middle, inner] complex numbers, output as [outer, middle, n, inner].
struct FftRequest {
  BufferRange input, roots, output, turns;  ///< turns are null where nothing is turned
  Size outer, n, middle, inner;
  Size turn_step;  ///< turns are that many roots for neighbours, and one for each step of so many
  double scale;
  bool inverse;
  DType dtype;

  static void operands(auto& r, const auto& visit) {
    visit(r.input, Access::read);
    visit(r.roots, Access::read);
    visit(r.turns, Access::read);
    visit(r.output, Access::write);
  }
  static void values(const auto& r, const auto& visit) {
    visit(r.outer);
    visit(r.n);
    visit(r.middle);
    visit(r.inner);
    visit(r.scale);
    visit(r.inverse);
    visit(r.dtype);
  }
};

/// The primes that all backends have passes in registers of, and take in steps.
inline constexpr std::array<Size, 6> fft_primes{2, 3, 5, 7, 11, 13};

inline bool has_fft_primes_alone(Size n) {
  for (const Size prime : fft_primes) {
    while (n % prime == 0) n /= prime;
  }
  return n == 1;
}

/// Whether kernels of GPUs transform it without a convolution, other primes by sums.
inline bool has_passes_alone(Size n) {
  for (Size prime = 2; prime <= fft_tables::longest_prime_pass && n > 1; ++prime) {
    while (n % prime == 0) n /= prime;
  }
  return n == 1;
}

inline void check_fft_numbers(const Call& call, double scale, DType dtype) {
  call.known("dtype", dtype);
  if (dtype != DType::float32 && dtype != DType::float64) {
    call.invalid(text("dtype is ", to_string(dtype), ", expected float32 or float64"));
  }
  call.positive_finite("scale", scale);
  if (const auto narrow = static_cast<float>(scale);
      dtype == DType::float32 && (!std::isfinite(narrow) || narrow == 0)) {
    call.invalid(text("scale is ", scale, ", which is out of the range of float32"));
  }
}

inline std::optional<FftRequest> checked_fft(const Call& call, Buffer input, Buffer roots,
                                             Buffer output, Size outer, Size n, Size middle,
                                             Size inner, bool inverse, double scale,
                                             const std::optional<Buffer>& turns, DType dtype) {
  call.not_negative("outer", outer);
  call.not_negative("middle", middle);
  call.not_negative("inner", inner);
  call.positive("n", n);
  check_fft_numbers(call, scale, dtype);
  FftRequest r;
  const Size elements = call.product({2, outer, n, middle, inner});
  r.input = call.buffer("input", input, elements, dtype);
  r.roots = call.buffer("roots", roots, call.mul(2, fft_tables::roots_size(n, false)), dtype);
  r.output = call.buffer("output", output, elements, dtype);
  r.turn_step = 0;
  if (turns && elements != 0) {
    const Size whole = call.mul(n, middle);
    r.turn_step = fft_turn_step(whole);
    r.turns = call.buffer("turns", *turns, call.mul(2, fft_turns_size(whole)), dtype);
    call.apart("output", r.output, "turns", r.turns);
  } else if (turns) {
    call.buffer("turns", *turns, 0, dtype);
  }
  call.apart("output", r.output, "input", r.input);
  call.apart("output", r.output, "roots", r.roots);
  r.outer = outer;
  r.n = n;
  r.middle = middle;
  r.inner = inner;
  r.inverse = inverse;
  r.scale = scale;
  r.dtype = dtype;
  if (elements == 0) return std::nullopt;
  return r;
}

}  // namespace tilewright
