#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "core/fft_tables.hpp"
#include "cpu/kernels/table.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"
#include "tilewright/types.hpp"

// How lines of complex numbers are transformed, and shared out.
namespace tilewright::cpu {

inline constexpr std::size_t fft_grain = 1
                                         << 13;  // complex numbers that are worth a thread's while

template <class T>
const FftKernels<T>& fft_kernels();
template <>
inline const FftKernels<float>& fft_kernels<float>() {
  return kernels().fft32;
}
template <>
inline const FftKernels<double>& fft_kernels<double>() {
  return kernels().fft64;
}

/// Lines that a block has.
template <class T>
std::size_t fft_width() {
  return kernels().simd_width * sizeof(float) / sizeof(T);
}

/// What passes take n to be the product of, but for what is left of primes above fft_longest_radix.
struct FftRadices {
  explicit FftRadices(std::size_t n) {
    const auto add = [&](std::size_t radix) {
      values[count++] = static_cast<std::uint8_t>(radix);
      n /= radix;
    };
    auto left = static_cast<unsigned>(std::countr_zero(n));
    while (left > 0) {
      // As few passes as there can be, none of them much longer than another.
      const unsigned passes = (left + 2) / 3;
      const unsigned bits = (left + passes - 1) / passes;
      add(std::size_t{1} << bits);
      left -= bits;
    }
    for (const std::size_t radix : {13, 11, 9, 7, 5, 3}) {
      while (n % radix == 0) add(radix);
    }
    for (std::size_t radix = 17; radix <= fft_longest_radix && n > 1; radix += 2) {
      while (n % radix == 0) add(radix);
    }
    rest = n;
  }

  /// By how many passes over memory they take as long.
  double cost() const {
    double all = static_cast<double>(count) + (rest > 1 ? 16 : 0);
    for (std::size_t i = 0; i < count; ++i) {
      if (values[i] > 13) all += values[i] / 8.0;
    }
    return all;
  }

  std::array<std::uint8_t, 64> values;
  std::size_t count = 0;
  std::size_t rest;
};

/// The tables of a length n, as an op gets them, and its passes.
template <class T>
class FftLength {
 public:
  /// `roots` are each root_step-th of those of n, and behind them there is what n is convolved
  /// with.
  FftLength(const T* roots, std::size_t n, std::size_t root_step)
      : n_(n), roots_(roots), root_step_(root_step) {
    static_assert(fft_longest_radix == fft_tables::longest_prime_pass);
    const fft_tables::Convolution of = fft_tables::convolution_of(static_cast<Size>(n));
    part_ = static_cast<std::size_t>(of.n);
    longer_ = static_cast<std::size_t>(of.longer);
    radices_ = FftRadices(part_ == 0 ? n : n / part_);
    long_radices_ = FftRadices(part_ == 0 ? 1 : longer_);
  }
  FftLength(const FftLength&) = delete;
  FftLength& operator=(const FftLength&) = delete;

  std::size_t n() const { return n_; }
  const T* roots() const { return roots_; }
  std::size_t root_step() const { return root_step_; }
  const FftRadices& radices() const { return radices_; }
  /// What of it is convolved, 0 where nothing is, and by transforms of which length.
  std::size_t part() const { return part_; }
  std::size_t longer() const { return longer_; }
  bool is_whole() const { return part_ == n_; }

  FftConvolution<T> convolution(std::size_t whole) const {
    if (part_ == 0) return {};
    const T* const chirp = roots_ + 2 * whole;
    return {.n = part_,
            .longer = longer_,
            .radices = long_radices_.values.data(),
            .passes = long_radices_.count,
            .chirp = chirp,
            .answer = chirp + 2 * part_,
            .roots = chirp + 2 * (part_ + longer_)};
  }
  FftConvolution<T> convolution() const { return convolution(n_ * root_step_); }

 private:
  std::size_t n_;
  const T* roots_;
  std::size_t root_step_, part_, longer_;
  FftRadices radices_{1}, long_radices_{1};
};

/// The two lengths that rows of n numbers are transformed by: n is their product, and one of them
/// has all of what is convolved, `part`.
template <class T>
std::size_t first_part(std::size_t n, std::size_t part) {
  const std::size_t width = fft_width<T>();
  // Passes over vectors, some of which are not full.
  const auto cost = [&](std::size_t length, std::size_t other) {
    const double full =
        static_cast<double>((other + width - 1) / width * width) / static_cast<double>(other);
    return full * (FftRadices(length).cost() + 1 + static_cast<double>(length / 64));
  };
  std::size_t best = 1;
  double least = 0;
  for (std::size_t low = 2; low * low <= n; ++low) {
    if (n % low != 0) continue;
    if (part != 0 && low % part != 0 && n / low % part != 0) continue;
    for (const std::size_t one : {low, n / low}) {
      const double now = cost(one, n / one) + cost(n / one, one);
      if (best == 1 || now < least) {
        best = one;
        least = now;
      }
    }
  }
  return best;
}

/// Whether rows are better transformed one by one than in blocks of as many as a vector has. What
/// is convolved as a whole is by its longer rows.
template <class T>
bool by_parts(std::size_t rows, const FftLength<T>& length) {
  const std::size_t width = fft_width<T>();
  const bool is_whole = length.is_whole();
  const std::size_t n = is_whole ? length.longer() : length.n();
  if (n < 64) return false;
  const std::size_t first = first_part<T>(n, is_whole ? 0 : length.part()), second = n / first;
  if (first == 1) return false;
  const auto fill = [](std::size_t count, std::size_t unit) {
    return static_cast<double>(count) / static_cast<double>((count + unit - 1) / unit * unit);
  };
  const double parts = fill(rows, std::min(rows * n / fft_grain + 1, thread_count())) *
                       (fill(first, width) + fill(second, width)) / 2;
  const double block = fill(rows, width * std::min(rows * n / fft_grain + 1, thread_count()));
  // As measured: blocks are the quicker ones until they leave the caches, or where what they have
  // of its rows falls into so few sets of a cache that it fills them.
  constexpr std::size_t page = 4096, ways = 8, least = 512;
  const bool falls_together = sizeof(T) == sizeof(float) && n >= least &&
                              std::gcd(n * 2 * sizeof(T), page) * width >= page * ways;
  return n > 8192 || falls_together ? parts > 0.7 * block : parts > 1.5 * block;
}

/// How many pieces [0, units) is cut into, each unit `numbers` complex numbers.
inline std::size_t fft_pieces(std::size_t units, std::size_t numbers) {
  return std::clamp<std::size_t>(std::min(units, piece_count(units * numbers, fft_grain)), 1,
                                 units);
}

template <class T>
constexpr std::size_t floats_for(std::size_t values) {
  return values * sizeof(T) / sizeof(float);
}

/// Runs body(begin, end, scratch) for pieces of [0, units), with so many values of scratch each.
template <class T, class Body>
void in_pieces(OpScratch& all, std::size_t units, std::size_t pieces, std::size_t scratch,
               Body&& body) {
  parallel_tasks(pieces, [&](std::size_t piece) {
    Scratch own(all);
    body(units * piece / pieces, units * (piece + 1) / pieces,
         reinterpret_cast<T*>(own.take(floats_for<T>(scratch))));
  });
}

/// Lines, their blocks, and how these are shared out.
template <class T>
struct LineBlocks {
  explicit LineBlocks(const FftLines<T>& lines)
      : blocks(lines.across
                   ? (lines.lines + fft_width<T>() - 1) / fft_width<T>()
                   : lines.lines / lines.nz * ((lines.nz + fft_width<T>() - 1) / fft_width<T>())),
        pieces(fft_pieces(blocks, lines.n * fft_width<T>())),
        scratch(fft_scratch(lines.n, lines.convolution.longer, fft_width<T>())) {}

  std::size_t blocks, pieces, scratch;
};

template <class T>
void run_lines(OpScratch& all, const LineBlocks<T>& of, const FftLines<T>& lines) {
  in_pieces<T>(all, of.blocks, of.pieces, of.scratch,
               [&](std::size_t begin, std::size_t end, T* scratch) {
                 fft_kernels<T>().transform(lines, begin, end, scratch);
               });
}

}  // namespace tilewright::cpu
