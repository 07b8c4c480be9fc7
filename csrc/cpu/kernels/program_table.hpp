#pragma once

#include <array>
#include <cstddef>

#include "core/program/rules.hpp"
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

/// The inner loops of programs.
struct ProgramKernels {
  std::array<ProgramLoops<class_count>, op_count> ops;  ///< null where the op has no such class
  /// Of float32, to memory that the caches are too small for; null where the op has none.
  ProgramLoops<op_count> streamed;
  /// To an element of the dtype, from any class; the result is in the dtype's class.
  std::array<ProgramLoops<dtype_count>, class_count> casts;
  ProgramLoops<dtype_count> wraps;   ///< to what the dtype holds; null where all of its class does
  ProgramLoops<dtype_count> loads;   ///< null where a class is stored as it is
  ProgramLoops<dtype_count> stores;  ///< the same
  ProgramLoop stream;                ///< copies n bytes past the caches
  void (*end_stream)();              ///< after the last of these and of `streamed`

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
