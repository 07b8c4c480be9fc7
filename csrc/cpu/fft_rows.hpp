#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "cpu/kernels/table.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"
#include "tilewright/types.hpp"

// How lines of complex numbers are shared out, and long rows of them taken apart.
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

/// What passes take n to be the product of.
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
  }

  std::array<std::uint8_t, 64> values;
  std::size_t count = 0;
};

/// The two lengths that rows of n numbers are transformed by: n is their product.
template <class T>
std::size_t first_part(std::size_t n) {
  const std::size_t width = fft_width<T>();
  // Passes over vectors, some of which are not full.
  const auto cost = [&](std::size_t length, std::size_t other) {
    const double full =
        static_cast<double>((other + width - 1) / width * width) / static_cast<double>(other);
    return full * static_cast<double>(FftRadices(length).count + 1 + length / 64);
  };
  std::size_t best = 1;
  double least = 0;
  for (std::size_t low = 2; low * low <= n; ++low) {
    if (n % low != 0) continue;
    for (const std::size_t part : {low, n / low}) {
      const double now = cost(part, n / part) + cost(n / part, part);
      if (best == 1 || now < least) {
        best = part;
        least = now;
      }
    }
  }
  return best;
}

/// Whether rows are better transformed one by one than in blocks of as many as a vector has.
template <class T>
bool by_parts(std::size_t rows, std::size_t n) {
  const std::size_t width = fft_width<T>();
  if (n < 64) return false;
  const std::size_t first = first_part<T>(n), second = n / first;
  if (first == 1) return false;
  const auto fill = [](std::size_t count, std::size_t unit) {
    return static_cast<double>(count) / static_cast<double>((count + unit - 1) / unit * unit);
  };
  const double parts = fill(rows, std::min(rows * n / fft_grain + 1, thread_count())) *
                       (fill(first, width) + fill(second, width)) / 2;
  const double block = fill(rows, width * std::min(rows * n / fft_grain + 1, thread_count()));
  // As measured: blocks are the quicker ones until they leave the caches.
  return n > 8192 ? parts > 0.7 * block : parts > 1.5 * block;
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
        scratch(fft_scratch(lines.n, fft_width<T>())) {}

  std::size_t blocks, pieces, scratch;
};

template <class T>
void run_lines(OpScratch& all, const LineBlocks<T>& of, const FftLines<T>& lines) {
  in_pieces<T>(all, of.blocks, of.pieces, of.scratch,
               [&](std::size_t begin, std::size_t end, T* scratch) {
                 fft_kernels<T>().transform(lines, begin, end, scratch);
               });
}

/// Rows of n complex numbers, or of 2 n real ones and the first n + 1 of their transforms: each two
/// of these are a complex number then, and roots are those of 2 n, each second of which is of n.
template <class T>
struct FftRows {
  const T* input;
  T* output;
  const T* roots;
  std::size_t rows, n;
  T scale;
  bool inverse;
  bool real;

  std::size_t input_pitch() const { return real && inverse ? 2 * (n + 1) : 2 * n; }
  std::size_t output_pitch() const { return real && !inverse ? 2 * (n + 1) : 2 * n; }
};

/// Each row as a matrix [first, second]: its columns, turned, and then its rows.
template <class T>
class LongRows {
 public:
  LongRows(MemoryPool& pool, const FftRows<T>& of)
      : pool_(pool),
        of_(of),
        first_(first_part<T>(of.n)),
        second_(of.n / first_),
        first_radices_(first_),
        second_radices_(second_),
        turn_step_(static_cast<std::size_t>(fft_turn_step(static_cast<Size>(of.n)))),
        tables_(pool, "fft", floats_for<T>(2 * (first_ + second_ + 2 * turn_step_))),
        own_tables_(tables_) {
    copy_roots();
    columns_.n = first_;
    columns_.input_step = columns_.output_step = second_;
    columns_.lines = columns_.nz = second_;
    columns_.ny = 1;
    columns_.input_at = columns_.output_at = {.x = 0, .y = of.n, .z = 1};
    columns_.radices = first_radices_.values.data();
    columns_.passes = first_radices_.count;
    columns_.root_step = 1;
    columns_.scale = 1;
    columns_.inverse = of.inverse;
    columns_.turn_at = {.x = 0, .y = 0, .z = 1};

    across_.n = second_;
    across_.input_step = 1;
    across_.output_step = first_;
    across_.lines = across_.nz = first_;
    across_.ny = 1;
    across_.input_at = {.x = 0, .y = of.n, .z = second_};
    across_.output_at = {.x = 0, .y = of.n, .z = 1};
    across_.radices = second_radices_.values.data();
    across_.passes = second_radices_.count;
    across_.root_step = 1;
    // What unpacks the halves of real rows scales them.
    across_.scale = of.real && !of.inverse ? T{1} : of.scale;
    across_.inverse = of.inverse;
  }

  void run() {
    if (of_.rows == 1 || of_.rows < thread_count()) {
      run_each();
    } else {
      run_rows();
    }
  }

 private:
  /// The roots that are needed, side by side: as they lie in the whole table they are in few of the
  /// cache's sets.
  void copy_roots() {
    T* next = reinterpret_cast<T*>(
        own_tables_.take(floats_for<T>(2 * (first_ + second_ + 2 * turn_step_))));
    const std::size_t each = of_.real ? 4 : 2;
    const auto copy = [&](std::size_t count, std::size_t step) {
      T* const begin = next;
      for (std::size_t i = 0; i < count; ++i) {
        *next++ = of_.roots[each * i * step];
        *next++ = of_.roots[each * i * step + 1];
      }
      return begin;
    };
    columns_.roots = copy(first_, second_);
    across_.roots = copy(second_, first_);
    columns_.turns = copy(turn_step_, 1);
    copy((of_.n + turn_step_ - 1) / turn_step_, turn_step_);
    columns_.turn_shift = static_cast<unsigned>(std::countr_zero(turn_step_));
  }

  /// Elements that the halves of a real row take.
  std::size_t halves() const { return of_.real ? 2 * of_.n : 0; }

  /// Transforms one row by body(input, output), of complex numbers; `halves` are those of real
  /// ones.
  template <class Body>
  void with_halves(std::size_t row, T* halves, const Body& body) const {
    const T* const input = of_.input + row * of_.input_pitch();
    T* const output = of_.output + row * of_.output_pitch();
    if (!of_.real) {
      body(input, output);
    } else if (of_.inverse) {
      fft_kernels<T>().pack_row(input, of_.n, of_.roots, halves);
      body(halves, output);
    } else {
      body(input, halves);
      fft_kernels<T>().unpack_row(halves, of_.n, of_.roots, of_.scale, output);
    }
  }

  /// The rows one after another, the lines of each shared by all threads.
  void run_each() {
    const LineBlocks<T> of_columns(columns_), of_rows(across_);
    // All of it before anything is written.
    OpScratch all(pool_, "fft", floats_for<T>(2 * of_.n + halves()));
    OpScratch of_lines(pool_, "fft", floats_for<T>(std::max(of_columns.scratch, of_rows.scratch)),
                       std::max(of_columns.pieces, of_rows.pieces));
    Scratch own(all);
    T* const between = reinterpret_cast<T*>(own.take(floats_for<T>(2 * of_.n + halves())));
    for (std::size_t row = 0; row < of_.rows; ++row) {
      with_halves(row, between + 2 * of_.n, [&](const T* input, T* output) {
        FftLines<T> columns = columns_, across = across_;
        columns.input = input;
        columns.output = between;
        across.input = between;
        across.output = output;
        run_lines(of_lines, of_columns, columns);
        run_lines(of_lines, of_rows, across);
      });
    }
  }

  void run_rows() {
    const std::size_t width = fft_width<T>();
    const std::size_t blocks = (second_ + width - 1) / width;
    const std::size_t own = fft_scratch(std::max(first_, second_), width);
    const std::size_t scratch = own + 2 * of_.n + halves();
    const std::size_t pieces = fft_pieces(of_.rows, of_.n);
    const std::size_t floats = floats_for<T>(blocks * 2 * width * first_);
    OpScratch all(pool_, "fft", floats);
    OpScratch of_pieces(pool_, "fft", floats_for<T>(scratch), pieces);
    Scratch tables(all);
    T* const table = reinterpret_cast<T*>(tables.take(floats));
    for (std::size_t block = 0; block < blocks; ++block) {
      fft_kernels<T>().fill_turns(columns_, block, table + block * 2 * width * first_);
    }
    columns_.turn_table = table;

    in_pieces<T>(of_pieces, of_.rows, pieces, scratch,
                 [&](std::size_t begin, std::size_t end, T* memory) {
                   T* const between = memory + own;
                   FftLines<T> columns = columns_, across = across_;
                   columns.output = between;
                   across.input = between;
                   for (std::size_t row = begin; row < end; ++row) {
                     with_halves(row, between + 2 * of_.n, [&](const T* input, T* output) {
                       columns.input = input;
                       across.output = output;
                       fft_kernels<T>().transform(columns, 0, blocks, memory);
                       fft_kernels<T>().transform(across, 0, (first_ + width - 1) / width, memory);
                     });
                   }
                 });
  }

  MemoryPool& pool_;
  const FftRows<T> of_;
  std::size_t first_, second_;
  FftRadices first_radices_, second_radices_;
  std::size_t turn_step_;
  OpScratch tables_;
  Scratch own_tables_;
  FftLines<T> columns_{}, across_{};
};

}  // namespace tilewright::cpu
