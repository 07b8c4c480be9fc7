#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "cpu/ops/fft_rows.hpp"

// Rows that are transformed one by one.
namespace tilewright::cpu {

/// One row as a matrix [first, second]: its columns, turned, and then its rows.
template <class T>
class FftMatrix {
 public:
  /// `roots` are each root_step-th of those of n; `convolution` is what is convolved of n.
  FftMatrix(MemoryPool& pool, std::size_t n, const T* roots, std::size_t root_step,
            const FftConvolution<T>& convolution, bool inverse, T scale)
      : n_(n),
        first_(first_part<T>(n, convolution.n)),
        second_(n / first_),
        turn_step_(static_cast<std::size_t>(fft_turn_step(static_cast<Size>(n)))),
        tables_(pool, "fft", floats_for<T>(2 * (first_ + second_ + 2 * turn_step_))),
        own_tables_(tables_) {
    copy_roots(roots, root_step);
    columns_.n = first_;
    columns_.input_step = columns_.output_step = second_;
    columns_.lines = columns_.nz = second_;
    columns_.ny = 1;
    columns_.input_at = columns_.output_at = {.x = 0, .y = n, .z = 1};
    columns_.scale = 1;
    columns_.turn_at = {.x = 0, .y = 0, .z = 1};

    across_.n = second_;
    across_.input_step = 1;
    across_.output_step = first_;
    across_.lines = across_.nz = first_;
    across_.ny = 1;
    across_.input_at = {.x = 0, .y = n, .z = second_};
    across_.output_at = {.x = 0, .y = n, .z = 1};
    across_.scale = scale;

    const auto passes = [&](FftLines<T>& lines, FftRadices& radices) {
      const bool is_convolved = convolution.n != 0 && lines.n % convolution.n == 0;
      if (is_convolved) lines.convolution = convolution;
      radices = FftRadices(is_convolved ? lines.n / convolution.n : lines.n);
      lines.radices = radices.values.data();
      lines.passes = radices.count;
      lines.root_step = 1;
      lines.inverse = inverse;
    };
    passes(columns_, first_radices_);
    passes(across_, second_radices_);
  }
  FftMatrix(const FftMatrix&) = delete;
  FftMatrix& operator=(const FftMatrix&) = delete;

  std::size_t n() const { return n_; }

  /// The turns of all columns, for alone().
  std::size_t turns() const { return column_blocks() * 2 * fft_width<T>() * first_; }
  void fill_turns(T* table) {
    for (std::size_t block = 0; block < column_blocks(); ++block) {
      fft_kernels<T>().fill_turns(columns_, block, table + block * 2 * fft_width<T>() * first_);
    }
    columns_.turn_table = table;
  }

  std::size_t scratch() const {
    return std::max(LineBlocks<T>(columns_).scratch, LineBlocks<T>(across_).scratch);
  }
  std::size_t pieces() const {
    return std::max(LineBlocks<T>(columns_).pieces, LineBlocks<T>(across_).pieces);
  }

  /// Both by one thread; `between` has room for a row, and may be the input.
  void alone(const T* input, T* between, T* output, T* scratch) const {
    each(input, between, output, [&](const FftLines<T>& lines) {
      fft_kernels<T>().transform(lines, 0, LineBlocks<T>(lines).blocks, scratch);
    });
  }
  /// By all threads, each with its own of the scratch.
  void shared(const T* input, T* between, T* output, OpScratch& scratch) const {
    each(input, between, output,
         [&](const FftLines<T>& lines) { run_lines(scratch, LineBlocks<T>(lines), lines); });
  }

 private:
  std::size_t column_blocks() const { return (second_ + fft_width<T>() - 1) / fft_width<T>(); }

  template <class Run>
  void each(const T* input, T* between, T* output, const Run& run) const {
    FftLines<T> columns = columns_, across = across_;
    columns.input = input;
    columns.output = between;
    run(columns);
    across.input = between;
    across.output = output;
    run(across);
  }

  /// The roots that are needed, side by side: as they lie in the whole table they are in few of the
  /// cache's sets.
  void copy_roots(const T* roots, std::size_t root_step) {
    T* next = reinterpret_cast<T*>(
        own_tables_.take(floats_for<T>(2 * (first_ + second_ + 2 * turn_step_))));
    const auto copy = [&](std::size_t count, std::size_t step) {
      T* const begin = next;
      for (std::size_t i = 0; i < count; ++i) {
        *next++ = roots[2 * i * step * root_step];
        *next++ = roots[2 * i * step * root_step + 1];
      }
      return begin;
    };
    columns_.roots = copy(first_, second_);
    across_.roots = copy(second_, first_);
    columns_.turns = copy(turn_step_, 1);
    copy((n_ + turn_step_ - 1) / turn_step_, turn_step_);
    columns_.turn_shift = static_cast<unsigned>(std::countr_zero(turn_step_));
  }

  std::size_t n_, first_, second_;
  FftRadices first_radices_{1}, second_radices_{1};
  std::size_t turn_step_;
  OpScratch tables_;
  Scratch own_tables_;
  FftLines<T> columns_{}, across_{};
};

/// What rows are: complex ones of n numbers; real ones of 2 n, each two of which are a complex
/// number; or real ones of n, with imaginary parts of 0. Of real ones the first half of the
/// transforms, n + 1 or n / 2 + 1 numbers, is on the other side.
enum class FftRowKind : std::uint8_t { complex, even_real, odd_real };

template <class T>
struct FftRows {
  const T* input;
  T* output;
  std::size_t rows;
  T scale;
  bool inverse;
  FftRowKind kind;
};

/// Rows one by one, those of a length that is convolved as a whole by matrices of a longer one.
template <class T>
class LongRows {
 public:
  LongRows(MemoryPool& pool, const FftRows<T>& of, const FftLength<T>& length)
      : pool_(pool), of_(of), length_(length), n_(length.n()) {
    // What unpacks the halves of real rows scales them.
    const T scale = of.kind == FftRowKind::complex || of.inverse ? of.scale : T{1};
    const FftConvolution<T> convolution = length.convolution();
    if (length.is_whole()) {
      chirp_ = convolution.chirp;
      answer_ = convolution.answer;
      first_.emplace(pool, convolution.longer, convolution.roots, 1, FftConvolution<T>{}, false,
                     T{1});
      back_.emplace(pool, convolution.longer, convolution.roots, 1, FftConvolution<T>{}, true,
                    scale);
    } else {
      first_.emplace(pool, n_, length.roots(), length.root_step(), convolution, of.inverse, scale);
    }
  }

  void run() {
    const bool is_shared = of_.rows == 1 || of_.rows < thread_count();
    is_shared ? run_each() : run_rows();
  }

 private:
  bool is_real() const { return of_.kind != FftRowKind::complex; }
  /// Elements of T that a row needs: between the two halves of a transform, as a convolved one, and
  /// as a complex one.
  std::size_t between() const { return 2 * first_->n(); }
  std::size_t longer() const { return back_ ? 2 * first_->n() : 0; }
  std::size_t complex_row() const { return is_real() ? 2 * n_ : 0; }
  std::size_t room() const { return between() + longer() + complex_row(); }

  /// By transform(matrix, input, between, output).
  template <class Transform>
  void run_row(std::size_t row, T* room, const Transform& transform) const {
    const std::size_t real = of_.kind == FftRowKind::even_real ? 2 * n_ : n_;
    const std::size_t halves = 2 * (real / 2 + 1);
    const std::size_t in = !is_real() ? 2 * n_ : of_.inverse ? halves : real;
    const std::size_t out = !is_real() ? 2 * n_ : of_.inverse ? real : halves;
    const T* const input = of_.input + row * in;
    T* const output = of_.output + row * out;
    T* const own = room + between() + longer();
    const auto& kernels = fft_kernels<T>();
    switch (of_.kind) {
      case FftRowKind::complex:
        return run_complex(input, output, room, transform);
      case FftRowKind::even_real:
        if (of_.inverse) {
          kernels.pack_row(input, n_, length_.roots(), own);
          run_complex(own, output, room, transform);
        } else {
          run_complex(input, own, room, transform);
          kernels.unpack_row(own, n_, length_.roots(), of_.scale, output);
        }
        return;
      case FftRowKind::odd_real:
        if (of_.inverse) {
          kernels.mirror_row(input, n_, own);
          run_complex(own, own, room, transform);
          for (std::size_t k = 0; k < n_; ++k) output[k] = own[2 * k];
        } else {
          for (std::size_t k = 0; k < n_; ++k) {
            own[2 * k] = input[k];
            own[2 * k + 1] = 0;
          }
          run_complex(own, own, room, transform);
          for (std::size_t k = 0; k < halves; ++k) output[k] = own[k] * of_.scale;
        }
    }
  }

  template <class Transform>
  void run_complex(const T* input, T* output, T* room, const Transform& transform) const {
    if (!back_) {
      transform(*first_, input, room, output);
      return;
    }
    // The inverse of a row is the conjugate of its conjugate's transform.
    const auto& kernels = fft_kernels<T>();
    T* const other = room + between();
    kernels.multiply_row(input, chirp_, n_, of_.inverse, false, other);
    std::fill(other + 2 * n_, other + longer(), T{0});
    transform(*first_, other, room, other);
    kernels.multiply_row(other, answer_, first_->n(), false, false, other);
    transform(*back_, other, room, other);
    kernels.multiply_row(other, chirp_, n_, false, of_.inverse, output);
  }

  /// The rows one after another, the lines of each shared by all threads.
  void run_each() {
    // All of it before anything is written.
    OpScratch all(pool_, "fft", floats_for<T>(room()));
    OpScratch of_lines(pool_, "fft", floats_for<T>(first_->scratch()), first_->pieces());
    Scratch own(all);
    T* const memory = reinterpret_cast<T*>(own.take(floats_for<T>(room())));
    for (std::size_t row = 0; row < of_.rows; ++row) {
      run_row(row, memory, [&](const FftMatrix<T>& matrix, const T* in, T* between, T* out) {
        matrix.shared(in, between, out, of_lines);
      });
    }
  }

  void run_rows() {
    const std::size_t own = first_->scratch(), scratch = own + room();
    const std::size_t pieces = fft_pieces(of_.rows, n_);
    const std::size_t turns = floats_for<T>(first_->turns());
    OpScratch all(pool_, "fft", (back_ ? 2 : 1) * Scratch::rounded(turns));
    OpScratch of_pieces(pool_, "fft", floats_for<T>(scratch), pieces);
    Scratch tables(all);
    first_->fill_turns(reinterpret_cast<T*>(tables.take(turns)));
    if (back_) back_->fill_turns(reinterpret_cast<T*>(tables.take(turns)));

    in_pieces<T>(of_pieces, of_.rows, pieces, scratch,
                 [&](std::size_t begin, std::size_t end, T* memory) {
                   const auto transform = [&](const FftMatrix<T>& matrix, const T* in, T* between,
                                              T* out) { matrix.alone(in, between, out, memory); };
                   for (std::size_t row = begin; row < end; ++row) {
                     run_row(row, memory + own, transform);
                   }
                 });
  }

  MemoryPool& pool_;
  const FftRows<T> of_;
  const FftLength<T>& length_;
  std::size_t n_;
  const T* chirp_ = nullptr;
  const T* answer_ = nullptr;
  std::optional<FftMatrix<T>> first_, back_;
};

}  // namespace tilewright::cpu
