#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/program/rules.hpp"
#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/chunks.hpp"
#include "cpu/elements.hpp"
#include "cpu/few.hpp"
#include "cpu/fold.hpp"
#include "cpu/program_run.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

// Scans of programs: long rows in chunks, whose totals are known before they are scanned, and those
// in blocks, so that the errors of sums grow with neither.
namespace tilewright::cpu {

namespace {

/// Columns that are scanned side by side, and those that fill a block by themselves.
constexpr Size least_columns = 2, wide_columns = 64;

template <Reduction op, class T>
T joined(T x, T y) {
  if constexpr (op == Reduction::sum || op == Reduction::prod) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;  // wraps
      const U a = static_cast<U>(x), b = static_cast<U>(y);
      return static_cast<T>(op == Reduction::sum ? a + b : a * b);
    } else {
      return op == Reduction::sum ? x + y : x * y;
    }
  } else if constexpr (op == Reduction::max) {
    return x > y || x != x ? x : y;
  } else {
    return x < y || x != x ? x : y;
  }
}

template <class Body>
void with_op(Reduction op, const Body& body) {
  switch (op) {
    case Reduction::sum:
      return body(std::integral_constant<Reduction, Reduction::sum>{});
    case Reduction::prod:
      return body(std::integral_constant<Reduction, Reduction::prod>{});
    case Reduction::max:
      return body(std::integral_constant<Reduction, Reduction::max>{});
    default:
      return body(std::integral_constant<Reduction, Reduction::min>{});
  }
}

/// One thread's part of a scan of values of type T.
template <Reduction op, class T>
class Scanner {
 public:
  Scanner(const FoldRequest& r, ProgramRun& piece, T identity)
      : r_(r),
        piece_(piece),
        identity_(identity),
        length_(static_cast<std::size_t>(r.length)),
        output_(static_cast<std::uint32_t>(r.front->inputs.size())),
        dtype_(r.behind->output_dtype()) {}

  T total(std::size_t row, std::size_t begin, std::size_t n) {
    T all = identity_;
    for (std::size_t k = 0; k < n; k += program_block) {
      const std::size_t now = std::min(program_block, n - k);
      const T* x = values(row * length_ + begin + k, now);
      const std::size_t quarter = now / 4;
      std::array<T, 4> parts{x[0], x[quarter], x[2 * quarter], x[3 * quarter]};
      for (std::size_t i = 1; i < quarter; ++i) {
        for (std::size_t q = 0; q < 4; ++q) parts[q] = joined<op>(parts[q], x[q * quarter + i]);
      }
      T part = quarter > 0
                   ? joined<op>(joined<op>(parts[0], parts[1]), joined<op>(parts[2], parts[3]))
                   : x[0];
      for (std::size_t i = std::max<std::size_t>(4 * quarter, 1); i < now; ++i) {
        part = joined<op>(part, x[i]);
      }
      all = k == 0 && begin == 0 ? part : joined<op>(all, part);
    }
    return all;
  }
  void scan_row(std::size_t row, std::size_t begin, std::size_t n, T carry) {
    const bool exclusive = r_.exclusive;
    for (std::size_t k = 0; k < n; k += program_block) {
      const std::size_t now = std::min(program_block, n - k), at = row * length_ + begin + k;
      const T* x = values(at, now);
      // What is before the first element changes nothing, not even the sign of 0.
      const bool first = begin + k == 0;
      out_[0] = identity_;
      T* const to = out_.data() + (exclusive ? 1 : 0);
      scan_quarters(x, now, to);
      const std::size_t quarter = now / 4;
      T before = carry;
      for (std::size_t begin = 0, q = 0; q < 4; ++q) {
        const std::size_t end = q == 3 ? now : begin + quarter;
        if (begin == end) continue;
        if (!first || begin > 0) {
          for (std::size_t i = begin; i < end; ++i) to[i] = joined<op>(before, to[i]);
        }
        before = to[end - 1];
        begin = end;
      }
      if (exclusive && !first) out_[0] = carry;
      carry = to[now - 1];
      store(at, now);
    }
  }
  /// Short rows, as many as a block holds.
  void scan_rows(std::size_t row, std::size_t count) {
    const std::size_t at = row * length_;
    const T* x = values(at, count * length_);
    T* to = out_.data();
    for (std::size_t i = 0; i < count; ++i, x += length_, to += length_) {
      T part = x[0];
      to[0] = r_.exclusive ? identity_ : part;
      for (std::size_t k = 1; k < length_; ++k) {
        if (r_.exclusive) to[k] = part;
        part = joined<op>(part, x[k]);
        if (!r_.exclusive) to[k] = part;
      }
    }
    store(at, count * length_);
  }
  /// Columns first to first + width of `inner` side by side.
  void scan_columns(std::size_t outer, std::size_t inner, std::size_t first, std::size_t width) {
    for (std::size_t k = 0; k < length_; ++k) {
      const std::size_t at = (outer * length_ + k) * inner + first;
      const T* x = values(at, width);
      for (std::size_t j = 0; j < width; ++j) {
        const T next = k == 0 ? x[j] : joined<op>(sums_[j], x[j]);
        out_[j] = !r_.exclusive ? next : k == 0 ? identity_ : sums_[j];
        sums_[j] = next;
      }
      store(at, width);
    }
  }
  /// All of so few columns that a block has room for them: of several outer dimensions.
  void scan_short_columns(std::size_t outer, std::size_t count, std::size_t inner) {
    const std::size_t at = outer * length_ * inner;
    const T* x = values(at, count * length_ * inner);
    T* to = out_.data();
    for (std::size_t i = 0; i < count; ++i, x += length_ * inner, to += length_ * inner) {
      scan_few(x, length_, inner, to);
    }
    store(at, count * length_ * inner);
  }
  /// Those of one outer dimension, in blocks of rows.
  void scan_narrow_columns(std::size_t outer, std::size_t inner) {
    const std::size_t rows = program_block / inner;
    for (std::size_t k = 0; k < length_; k += rows) {
      const std::size_t now = std::min(rows, length_ - k), at = (outer * length_ + k) * inner;
      T* const to = out_.data();
      scan_few(values(at, now * inner), now, inner, to);
      if (k == 0) {
        std::copy_n(sums_.data(), inner, carry_.data());
      } else {
        if (r_.exclusive) std::copy_n(carry_.data(), inner, to);
        for (std::size_t i = r_.exclusive ? 1 : 0; i < now; ++i) {
          for (std::size_t j = 0; j < inner; ++j) {
            to[i * inner + j] = joined<op>(carry_[j], to[i * inner + j]);
          }
        }
        for (std::size_t j = 0; j < inner; ++j) carry_[j] = joined<op>(carry_[j], sums_[j]);
      }
      store(at, now * inner);
    }
  }

 private:
  /// Rows of so few columns, whose totals are then in sums_: those of very few stay in registers.
  void scan_few(const T* x, std::size_t rows, std::size_t inner, T* to) {
    constexpr std::size_t most = 7;
    const bool is_done = with_few<most>(inner, [&](auto count) {
      std::array<T, count()> sums;
      scan_rows_of(count, x, rows, to, sums.data());
      std::copy_n(sums.begin(), count(), sums_.begin());
    });
    if (!is_done) scan_rows_of(inner, x, rows, to, sums_.data());
  }
  template <class Count>
  void scan_rows_of(Count inner, const T* x, std::size_t rows, T* to, T* sums) const {
    for (std::size_t j = 0; j < inner; ++j) {
      sums[j] = x[j];
      to[j] = r_.exclusive ? identity_ : x[j];
    }
    for (std::size_t i = 1; i < rows; ++i) {
      x += inner;
      to += inner;
      for (std::size_t j = 0; j < inner; ++j) {
        const T next = joined<op>(sums[j], x[j]);
        to[j] = r_.exclusive ? sums[j] : next;
        sums[j] = next;
      }
    }
  }
  /// Each quarter of a block by itself, side by side: none waits for the sum before it.
  static void scan_quarters(const T* x, std::size_t n, T* to) {
    const std::size_t quarter = n / 4;
    std::array<T, 4> parts{};
    for (std::size_t i = 0; i < quarter; ++i) {
      for (std::size_t q = 0; q < 4; ++q) {
        const T next = x[q * quarter + i];
        to[q * quarter + i] = parts[q] = i == 0 ? next : joined<op>(parts[q], next);
      }
    }
    for (std::size_t i = 4 * quarter; i < n; ++i) {
      to[i] = parts[3] = i == 0 ? x[i] : joined<op>(parts[3], x[i]);
    }
  }
  const T* values(std::size_t at, std::size_t n) {
    return reinterpret_cast<const T*>(piece_.values(at, n));
  }
  void store(std::size_t at, std::size_t n) {
    if (dtype_ == DType::boolean) {
      for (std::size_t i = 0; i < n; ++i) bytes_[i] = out_[i] != 0 ? 1 : 0;
      piece_.store(output_, dtype_, reinterpret_cast<const std::byte*>(bytes_.data()), at, n);
    } else {
      piece_.store(output_, dtype_, reinterpret_cast<const std::byte*>(out_.data()), at, n);
    }
  }

  const FoldRequest& r_;
  ProgramRun& piece_;
  const T identity_;
  const std::size_t length_;
  const std::uint32_t output_;
  const DType dtype_;
  alignas(64) std::array<T, program_block + 1> out_;
  alignas(64) std::array<T, program_block> sums_;
  std::array<T, wide_columns> carry_;
  std::array<std::uint8_t, program_block> bytes_;
};

/// Columns of float32 that lie as their results do: each row is joined to the one before where it
/// is. False where they are others, or few and so long that errors of sums are kept down by blocks.
bool scan_dense_columns(const FoldRequest& r, const MapRequest& front) {
  constexpr std::size_t least_inner = 16, widest = 2048;
  const auto inner = static_cast<std::size_t>(r.shape()[r.kept - 1]);
  const bool in_blocks =
      inner < static_cast<std::size_t>(wide_columns) && r.length > static_cast<Size>(program_block);
  if (r.exclusive || inner < least_inner || in_blocks || !reads_plainly(r) ||
      r.behind->output_dtype() != DType::float32) {
    return false;
  }
  for (std::size_t operand = 0; operand < 2; ++operand) {
    Size step = 1;
    for (std::size_t d = front.rank; d-- > 0; step *= front.shape()[d]) {
      if (front.strides(operand)[d] != step) return false;
    }
  }
  const auto memory = [&](std::size_t operand) {
    return data<float>(r.operands[operand].allocation) + r.operands[operand].offset;
  };
  const float* const from = memory(0);
  float* const to = memory(1);
  const auto length = static_cast<std::size_t>(r.length);
  const std::size_t outer = static_cast<std::size_t>(r.results) / inner;
  const std::size_t width = std::clamp<std::size_t>(inner / thread_count(), 64, widest);
  const std::size_t tiles = (inner + width - 1) / width;
  const ProgramLoop loop = loop_of(r.op, ComputeClass::f32);
  parallel_for(outer * tiles, element_grain / (width * length) + 1,
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t unit = begin; unit < end; ++unit) {
                   const std::size_t first = unit % tiles * width;
                   const std::size_t at = unit / tiles * length * inner + first;
                   const std::size_t n = std::min(width, inner - first);
                   const float* x = from + at;
                   float* y = to + at;
                   if (y != x) std::memcpy(y, x, n * sizeof(float));
                   for (std::size_t k = 1; k < length; ++k, y += inner) {
                     x += inner;
                     loop(y, x, nullptr, y + inner, n);
                   }
                 }
               });
  return true;
}

}  // namespace

void CpuBackend::do_scan(const FoldRequest& r) {
  // Few and long ones are shared among threads as rows are.
  const bool is_long = Chunks(static_cast<std::size_t>(r.length)).count > 1;
  const bool columns = walks_columns(r, is_long ? wide_columns : least_columns);
  const MapRequest front = request_front(r, columns, r.operands.size());
  if (columns && scan_dense_columns(r, front)) return;
  const auto planned = plans_.of(front.program, front.same_as);
  const ProgramSteps& steps = *planned;
  const auto length = static_cast<std::size_t>(r.length);
  const auto rows = static_cast<std::size_t>(r.results);
  const std::size_t floats = (steps.registers + 1) * register_bytes / sizeof(float);
  OpScratch registers(*memory_, r.call, floats,
                      std::max<std::size_t>(piece_count(rows * length, element_grain), 1));
  const DType dtype = r.behind->output_dtype();
  const ComputeClass kind = class_of(r.front->output_dtype());

  with_class(kind, [&]<class T>(T) {
    with_op(r.op, [&]<Reduction op>(std::integral_constant<Reduction, op>) {
      T identity;
      const std::uint64_t bits = identity_bits(op, dtype);
      std::memcpy(&identity, &bits, sizeof identity);
      /// Calls body(scanner, i) for each of the units.
      const auto for_units = [&](std::size_t units, std::size_t elements, const auto& body) {
        const std::size_t pieces =
            std::clamp<std::size_t>(piece_count(units * elements, element_grain), 1, units);
        parallel_tasks(pieces, [&](std::size_t piece) {
          Scratch own(registers);
          ProgramRun run(front, steps, reinterpret_cast<std::byte*>(own.take(floats)));
          Scanner<op, T> scanner(r, run, identity);
          for (std::size_t i = units * piece / pieces; i < units * (piece + 1) / pieces; ++i) {
            body(scanner, i);
          }
        });
      };
      if (columns) {
        const auto inner = static_cast<std::size_t>(r.shape()[r.kept - 1]);
        const std::size_t outer = rows / inner;
        if (const std::size_t at_once = program_block / (length * inner); at_once > 0) {
          for_units((outer + at_once - 1) / at_once, at_once * length * inner,
                    [&](Scanner<op, T>& s, std::size_t unit) {
                      const std::size_t first = unit * at_once;
                      s.scan_short_columns(first, std::min(at_once, outer - first), inner);
                    });
          return;
        }
        if (inner < static_cast<std::size_t>(wide_columns)) {
          for_units(outer, length * inner, [&](Scanner<op, T>& s, std::size_t unit) {
            s.scan_narrow_columns(unit, inner);
          });
          return;
        }
        const std::size_t width = std::clamp<std::size_t>(inner / 16, 64, program_block);
        const std::size_t tiles = (inner + width - 1) / width;
        for_units(rows / inner * tiles, width * length, [&](Scanner<op, T>& s, std::size_t unit) {
          const std::size_t first = unit % tiles * width;
          s.scan_columns(unit / tiles, inner, first, std::min(width, inner - first));
        });
        return;
      }
      if (const std::size_t at_once = program_block / length; at_once > 1) {
        for_units((rows + at_once - 1) / at_once, at_once * length,
                  [&](Scanner<op, T>& s, std::size_t unit) {
                    const std::size_t first = unit * at_once;
                    s.scan_rows(first, std::min(at_once, rows - first));
                  });
        return;
      }
      const Chunks chunks(length);
      if (chunks.count == 1) {
        for_units(rows, length, [&](Scanner<op, T>& s, std::size_t row) {
          s.scan_row(row, 0, length, identity);
        });
        return;
      }
      std::vector<T> totals(rows * chunks.count);
      for_units(totals.size(), chunks.size, [&](Scanner<op, T>& s, std::size_t i) {
        const std::size_t chunk = i % chunks.count;
        if (chunk + 1 == chunks.count) return;
        totals[i] = s.total(i / chunks.count, chunks.begin(chunk), chunks.length(chunk));
      });
      for (std::size_t i = 0; i < totals.size(); i += chunks.count) {
        for (std::size_t c = 1; c + 1 < chunks.count; ++c) {
          totals[i + c] = joined<op>(totals[i + c - 1], totals[i + c]);
        }
      }
      for_units(totals.size(), chunks.size, [&](Scanner<op, T>& s, std::size_t i) {
        const std::size_t chunk = i % chunks.count;
        s.scan_row(i / chunks.count, chunks.begin(chunk), chunks.length(chunk),
                   chunk == 0 ? identity : totals[i - 1]);
      });
    });
  });
}

}  // namespace tilewright::cpu
