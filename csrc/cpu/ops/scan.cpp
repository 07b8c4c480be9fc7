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
#include "cpu/ops/fold.hpp"
#include "cpu/ops/scanner.hpp"
#include "cpu/program/run.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

// Scans of programs: long rows in chunks, whose totals are known before they are scanned, and those
// in blocks, so that the errors of sums grow with neither.
namespace tilewright::cpu {

namespace {

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
  const bool columns = walks_columns(r, least_columns);
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
          // Few and long ones are shared among threads: totals of blocks are had first.
          const bool is_shared =
              thread_count() > 1 && outer < 2 * thread_count() && Chunks(length).count > 1;
          if (!is_shared) {
            for_units(outer, length * inner, [&](Scanner<op, T>& s, std::size_t unit) {
              s.scan_narrow_columns(unit, inner);
            });
            return;
          }
          const std::size_t block = program_block / inner, blocks = (length + block - 1) / block;
          std::vector<T> before(outer * blocks * inner);
          const auto rows_of = [&](std::size_t k) { return std::min(block, length - k); };
          for_units(outer * blocks, block * inner, [&](Scanner<op, T>& s, std::size_t unit) {
            const std::size_t k = unit % blocks * block;
            s.total_narrow_block(unit / blocks, inner, k, rows_of(k), &before[unit * inner]);
          });
          for (std::size_t i = 0; i < outer; ++i) {
            typename Scanner<op, T>::Totals totals;
            for (std::size_t b = 0; b < blocks; ++b) {
              T* const here = &before[(i * blocks + b) * inner];
              std::array<T, wide_columns> own;
              std::copy_n(here, inner, own.data());
              const T* const found = Scanner<op, T>::before_block(totals, inner);
              if (found != nullptr) std::copy_n(found, inner, here);
              Scanner<op, T>::add_block(totals, own.data(), inner);
            }
          }
          for_units(outer * blocks, block * inner, [&](Scanner<op, T>& s, std::size_t unit) {
            const std::size_t k = unit % blocks * block;
            s.scan_narrow_block(unit / blocks, inner, k, rows_of(k),
                                k == 0 ? nullptr : &before[unit * inner]);
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
