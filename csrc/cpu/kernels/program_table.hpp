#pragma once

#include <array>
#include <cstddef>

#include "core/program/rules.hpp"
#include "cpu/kernels/table.hpp"
#include "tilewright/types.hpp"

namespace tilewright::cpu {

constexpr std::size_t class_count = EnumNames<ComputeClass>::values.size();
constexpr std::size_t dtype_count = EnumNames<DType>::values.size();
constexpr std::size_t op_count = 0
#define OP(name, operands, rule, spelling) +1
#include "core/program/elementwise.def"
#undef OP
    ;

/// n elements of an op, or of a cast, load or store with one operand. Operands are contiguous in
/// the type of their class; bool is a byte, 0 or 1. The result may be an operand.
using ProgramLoop = void (*)(const void* a, const void* b, const void* c, void* result,
                             std::size_t n);
template <std::size_t count>
using ProgramLoops = std::array<ProgramLoop, count>;

/// Rows of float32, `step` elements apart.
struct RowsOperand {
  const float* data;
  std::ptrdiff_t step;
};
struct RowsResult {
  float* data;
  std::ptrdiff_t step;
};
/// An op on rows of n elements.
using RowsLoop = void (*)(const RowsOperand* operands, const RowsResult& result, std::size_t rows,
                          std::size_t n, Store how);
/// By the operands that have one element for a whole row, a bit for each; null where there is none.
using RowsLoops = std::array<RowsLoop, 8>;

/// x * factor + addend, with one of each for a row of x.
struct RowsStage {
  const float *factors, *addends;
};
constexpr std::size_t most_stages = 4;

/// The inner loops of programs.
struct ProgramKernels {
  std::array<ProgramLoops<class_count>, op_count> ops;  ///< null where the op has no such class
  /// Of float32, to memory that the caches are too small for; null where the op has none.
  ProgramLoops<op_count> streamed;
  /// Of float32, of rows where they lie; null where the op has none.
  std::array<RowsLoops, op_count> rows;
  /// So many stages, at most most_stages, one after the other on rows of n elements.
  void (*stages)(const RowsOperand& x, const RowsStage* stages, std::size_t count,
                 const RowsResult& result, std::size_t rows, std::size_t n);
  /// To an element of the dtype, from any class; the result is in the dtype's class.
  std::array<ProgramLoops<dtype_count>, class_count> casts;
  ProgramLoops<dtype_count> wraps;   ///< to what the dtype holds; null where all of its class does
  ProgramLoops<dtype_count> loads;   ///< null where a class is stored as it is
  ProgramLoops<dtype_count> stores;  ///< the same

  // Of float32, by sum, product, max and min, in which NaN spreads.
  /// Rows of n > 0 elements, `stride` apart, each to one number.
  std::array<
      void (*)(const float* x, std::size_t rows, std::size_t n, std::size_t stride, float* to), 4>
      fold_rows;
  /// In into[j], which may be start[j], that joined with x[i * stride + j] of all rows i, which
  /// should be no more than some hundreds: the errors of sums grow with them.
  std::array<void (*)(const float* start, const float* x, std::size_t rows, std::size_t stride,
                      std::size_t width, float* into),
             4>
      fold_columns;
  /// The same of so many units of rows > 0 rows each, all of which lie one behind the other.
  std::array<void (*)(const float* x, std::size_t units, std::size_t rows, std::size_t width,
                      float* to),
             4>
      fold_units;

  // Blocks of rows of n elements of 4 bytes.
  void (*copy_words)(const void* from, std::ptrdiff_t from_step, void* to, std::ptrdiff_t to_step,
                     std::size_t rows, std::size_t n);
  /// One element of each row, `step` apart, n times.
  void (*repeat_words)(const void* from, std::ptrdiff_t step, void* to, std::size_t rows,
                       std::size_t n);
  /// Each step-th element, side by side.
  void (*pick_words)(const void* from, std::ptrdiff_t step, void* to, std::size_t n);
  /// Columns whose elements lie side by side, `step` apart, to rows `to_step` apart. Those that are
  /// wanted next lie `next` behind.
  void (*transpose_words)(const void* from, std::ptrdiff_t step, std::ptrdiff_t next, void* to,
                          std::ptrdiff_t to_step, std::size_t rows, std::size_t n);

  ProgramLoop stream;    ///< copies n bytes past the caches
  void (*end_stream)();  ///< after the last of these and of `streamed`

  /// Between 2n elements of 4 or 8 bytes and those of even and of odd places, as complex numbers
  /// have their parts.
  void (*split_32)(const void* both, void* even, void* odd, std::size_t n);
  void (*split_64)(const void* both, void* even, void* odd, std::size_t n);
  void (*join_32)(const void* even, const void* odd, void* both, std::size_t n);
  void (*join_64)(const void* even, const void* odd, void* both, std::size_t n);
  /// Products of n complex numbers of float32 or float64; `out` may be an operand.
  void (*multiply_32)(const void* x, const void* y, void* out, std::size_t n, bool streaming);
  void (*multiply_64)(const void* x, const void* y, void* out, std::size_t n, bool streaming);
};

const ProgramKernels& program_kernels();

}  // namespace tilewright::cpu
