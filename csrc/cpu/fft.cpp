#include "core/ops/fft.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "cpu/backend.hpp"
#include "cpu/kernels/table.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

constexpr std::size_t grain = 1 << 13;  // complex numbers that are worth a thread's while

template <class T>
const FftKernels<T>& fft_kernels();
template <>
const FftKernels<float>& fft_kernels<float>() {
  return kernels().fft32;
}
template <>
const FftKernels<double>& fft_kernels<double>() {
  return kernels().fft64;
}

/// Lines that a block has.
template <class T>
std::size_t fft_width() {
  return kernels().simd_width * sizeof(float) / sizeof(T);
}

/// What passes take n to be the product of.
struct Radices {
  explicit Radices(std::size_t n) {
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
    return full * static_cast<double>(Radices(length).count + 1 + length / 64);
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
  const double parts = fill(rows, std::min(rows * n / grain + 1, thread_count())) *
                       (fill(first, width) + fill(second, width)) / 2;
  const double block = fill(rows, width * std::min(rows * n / grain + 1, thread_count()));
  // As measured: blocks are the quicker ones until they leave the caches.
  return n > 8192 ? parts > 0.7 * block : parts > 1.5 * block;
}

/// How many pieces [0, units) is cut into, each unit `numbers` complex numbers.
std::size_t pieces_of(std::size_t units, std::size_t numbers) {
  return std::clamp<std::size_t>(std::min(units, piece_count(units * numbers, grain)), 1, units);
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
        pieces(pieces_of(blocks, lines.n * fft_width<T>())),
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

/// Rows of n numbers, each as a matrix [first, second]: its columns, turned, and then its rows.
template <class T>
class LongRows {
 public:
  LongRows(MemoryPool& pool, const FftRequest& r, std::size_t rows, std::size_t n)
      : pool_(pool),
        rows_(rows),
        n_(n),
        first_(first_part<T>(n)),
        second_(n / first_),
        first_radices_(first_),
        second_radices_(second_),
        turn_step_(static_cast<std::size_t>(fft_turn_step(static_cast<Size>(n)))),
        tables_(pool, "fft", floats_for<T>(2 * (first_ + second_ + 2 * turn_step_))),
        own_tables_(tables_) {
    copy_roots(data<T>(r.roots));
    columns_.input = data<T>(r.input);
    columns_.n = first_;
    columns_.input_step = columns_.output_step = second_;
    columns_.lines = columns_.nz = second_;
    columns_.ny = 1;
    columns_.input_at = columns_.output_at = {.x = 0, .y = n, .z = 1};
    columns_.radices = first_radices_.values.data();
    columns_.passes = first_radices_.count;
    columns_.root_step = 1;
    columns_.scale = 1;
    columns_.inverse = r.inverse;
    columns_.turn_at = {.x = 0, .y = 0, .z = 1};

    across_.output = data<T>(r.output);
    across_.n = second_;
    across_.input_step = 1;
    across_.output_step = first_;
    across_.lines = across_.nz = first_;
    across_.ny = 1;
    across_.input_at = {.x = 0, .y = n, .z = second_};
    across_.output_at = {.x = 0, .y = n, .z = 1};
    across_.radices = second_radices_.values.data();
    across_.passes = second_radices_.count;
    across_.root_step = 1;
    across_.scale = static_cast<T>(r.scale);
    across_.inverse = r.inverse;
  }

  void run() {
    if (rows_ == 1 || rows_ < thread_count()) {
      run_each();
    } else {
      run_rows();
    }
  }

 private:
  /// The roots that are needed, side by side: as they lie in the whole table they are in few of the
  /// cache's sets.
  void copy_roots(const T* roots) {
    T* next = reinterpret_cast<T*>(
        own_tables_.take(floats_for<T>(2 * (first_ + second_ + 2 * turn_step_))));
    const auto copy = [&](std::size_t count, std::size_t step) {
      T* const begin = next;
      for (std::size_t i = 0; i < count; ++i) {
        *next++ = roots[2 * i * step];
        *next++ = roots[2 * i * step + 1];
      }
      return begin;
    };
    columns_.roots = copy(first_, second_);
    across_.roots = copy(second_, first_);
    columns_.turns = copy(turn_step_, 1);
    copy((n_ + turn_step_ - 1) / turn_step_, turn_step_);
    columns_.turn_shift = static_cast<unsigned>(std::countr_zero(turn_step_));
  }

  /// The rows one after another, the lines of each shared by all threads.
  void run_each() {
    const LineBlocks<T> of_columns(columns_), of_rows(across_);
    // All of it before anything is written.
    const std::size_t floats = floats_for<T>(2 * n_);
    OpScratch all(pool_, "fft", floats);
    OpScratch of_lines(pool_, "fft", floats_for<T>(std::max(of_columns.scratch, of_rows.scratch)),
                       std::max(of_columns.pieces, of_rows.pieces));
    Scratch own(all);
    T* const between = reinterpret_cast<T*>(own.take(floats));
    for (std::size_t row = 0; row < rows_; ++row) {
      FftLines<T> columns = columns_, across = across_;
      columns.input += 2 * row * n_;
      columns.output = between;
      across.input = between;
      across.output += 2 * row * n_;
      run_lines(of_lines, of_columns, columns);
      run_lines(of_lines, of_rows, across);
    }
  }

  void run_rows() {
    const std::size_t width = fft_width<T>();
    const std::size_t blocks = (second_ + width - 1) / width;
    const std::size_t own = fft_scratch(std::max(first_, second_), width);
    const std::size_t pieces = pieces_of(rows_, n_);
    const std::size_t floats = floats_for<T>(blocks * 2 * width * first_);
    OpScratch all(pool_, "fft", floats);
    OpScratch of_pieces(pool_, "fft", floats_for<T>(own + 2 * n_), pieces);
    Scratch tables(all);
    T* const table = reinterpret_cast<T*>(tables.take(floats));
    for (std::size_t block = 0; block < blocks; ++block) {
      fft_kernels<T>().fill_turns(columns_, block, table + block * 2 * width * first_);
    }
    columns_.turn_table = table;

    in_pieces<T>(of_pieces, rows_, pieces, own + 2 * n_,
                 [&](std::size_t begin, std::size_t end, T* scratch) {
                   T* const between = scratch + own;
                   FftLines<T> columns = columns_, across = across_;
                   columns.output = between;
                   across.input = between;
                   for (std::size_t row = begin; row < end; ++row) {
                     columns.input = columns_.input + 2 * row * n_;
                     across.output = across_.output + 2 * row * n_;
                     fft_kernels<T>().transform(columns, 0, blocks, scratch);
                     fft_kernels<T>().transform(across, 0, (first_ + width - 1) / width, scratch);
                   }
                 });
  }

  MemoryPool& pool_;
  std::size_t rows_, n_, first_, second_;
  Radices first_radices_, second_radices_;
  std::size_t turn_step_;
  OpScratch tables_;
  Scratch own_tables_;
  FftLines<T> columns_{}, across_{};
};

template <class T>
void transform(MemoryPool& pool, const FftRequest& r) {
  const auto n = static_cast<std::size_t>(r.n), outer = static_cast<std::size_t>(r.outer);
  const auto middle = static_cast<std::size_t>(r.middle), inner = static_cast<std::size_t>(r.inner);
  const std::size_t width = fft_width<T>();
  if (middle * inner == 1 && by_parts<T>(outer, n)) {
    LongRows<T>(pool, r, outer, n).run();
    return;
  }
  const Radices radices(n);
  FftLines<T> lines{};
  lines.input = data<T>(r.input);
  lines.output = data<T>(r.output);
  lines.n = n;
  lines.input_step = middle * inner;
  lines.output_step = inner;
  lines.lines = outer * middle * inner;
  const std::size_t whole = n * middle * inner;
  // Runs of lines as long as they can be.
  if (inner > 1 && middle > 1) {
    lines.ny = middle;
    lines.nz = inner;
    lines.input_at = {.x = whole, .y = inner, .z = 1};
    lines.output_at = {.x = whole, .y = n * inner, .z = 1};
    lines.turn_at = {.x = 0, .y = 1, .z = 0};
  } else if (inner > 1 || middle > 1) {
    lines.ny = outer;
    lines.nz = middle * inner;
    lines.input_at = {.x = 0, .y = whole, .z = 1};
    lines.output_at = {.x = 0, .y = whole, .z = inner > 1 ? 1 : n};
    lines.turn_at = {.x = 0, .y = 0, .z = 1};
  } else {
    lines.ny = 1;
    lines.nz = outer;
    lines.input_at = lines.output_at = {.x = 0, .y = 0, .z = n};
  }
  lines.across = lines.nz % width != 0 && lines.nz < 4 * width;
  lines.radices = radices.values.data();
  lines.passes = radices.count;
  lines.roots = data<T>(r.roots);
  lines.root_step = 1;
  lines.scale = static_cast<T>(r.scale);
  lines.inverse = r.inverse;
  if (r.turn_step != 0 && middle > 1) {
    lines.turns = data<T>(r.turns);
    lines.turn_shift =
        static_cast<unsigned>(std::countr_zero(static_cast<std::size_t>(r.turn_step)));
  }
  const LineBlocks<T> of(lines);
  OpScratch all(pool, "fft", floats_for<T>(of.scratch), of.pieces);
  run_lines(all, of, lines);
}

}  // namespace

void CpuBackend::do_fft(const FftRequest& r) {
  r.dtype == DType::float64 ? transform<double>(*memory_, r) : transform<float>(*memory_, r);
}

}  // namespace tilewright::cpu
