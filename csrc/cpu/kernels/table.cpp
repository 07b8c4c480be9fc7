#include "cpu/kernels/table.hpp"

#include "cpu/kernels/conv_table.hpp"
#include "cpu/kernels/program_table.hpp"
#include "cpu/kernels/quantized_table.hpp"
#include "cpu/kernels/random_table.hpp"
#include "cpu/kernels/recurrent_table.hpp"
#include "cpu/kernels/sort_table.hpp"
#include "cpu/kernels/sparse_table.hpp"
#include "cpu/kernels/windows_table.hpp"
#include "cpu/processor.hpp"

namespace tilewright::cpu {

namespace baseline {
extern const KernelTable table;
extern const ProgramKernels program_kernels;
extern const QuantizedTable quantized;
extern const RandomTable randoms;
extern const RecurrentTable recurrent;
extern const SortTable sorts;
extern const SparseTable sparse;
extern const WindowTable windows;
extern const ConvTable convs;
}  // namespace baseline
#if defined(TILEWRIGHT_X86_KERNELS)
namespace avx2 {
extern const KernelTable table;
extern const ProgramKernels program_kernels;
extern const QuantizedTable quantized;
extern const RandomTable randoms;
extern const RecurrentTable recurrent;
extern const SortTable sorts;
extern const SparseTable sparse;
extern const WindowTable windows;
extern const ConvTable convs;
}  // namespace avx2
namespace avx512 {
extern const KernelTable table;
extern const ProgramKernels program_kernels;
extern const QuantizedTable quantized;
extern const RandomTable randoms;
extern const RecurrentTable recurrent;
extern const SortTable sorts;
extern const SparseTable sparse;
extern const WindowTable windows;
extern const ConvTable convs;
}  // namespace avx512
#endif

const KernelTable& kernels() {
#if defined(TILEWRIGHT_X86_KERNELS)
  const Isa isa = usable_isa();
  if (isa == Isa::avx512) return avx512::table;
  if (isa == Isa::avx2) return avx2::table;
#endif
  return baseline::table;
}

const ProgramKernels& program_kernels() {
#if defined(TILEWRIGHT_X86_KERNELS)
  const Isa isa = usable_isa();
  if (isa == Isa::avx512) return avx512::program_kernels;
  if (isa == Isa::avx2) return avx2::program_kernels;
#endif
  return baseline::program_kernels;
}

const QuantizedTable& quantized_table() {
#if defined(TILEWRIGHT_X86_KERNELS)
  const Isa isa = usable_isa();
  if (isa == Isa::avx512) return avx512::quantized;
  if (isa == Isa::avx2) return avx2::quantized;
#endif
  return baseline::quantized;
}

const RandomTable& random_table() {
#if defined(TILEWRIGHT_X86_KERNELS)
  const Isa isa = usable_isa();
  if (isa == Isa::avx512) return avx512::randoms;
  if (isa == Isa::avx2) return avx2::randoms;
#endif
  return baseline::randoms;
}

const RecurrentTable& recurrent_table() {
#if defined(TILEWRIGHT_X86_KERNELS)
  const Isa isa = usable_isa();
  if (isa == Isa::avx512) return avx512::recurrent;
  if (isa == Isa::avx2) return avx2::recurrent;
#endif
  return baseline::recurrent;
}

const SortTable& sort_table() {
#if defined(TILEWRIGHT_X86_KERNELS)
  const Isa isa = usable_isa();
  if (isa == Isa::avx512) return avx512::sorts;
  if (isa == Isa::avx2) return avx2::sorts;
#endif
  return baseline::sorts;
}

const SparseTable& sparse_table() {
#if defined(TILEWRIGHT_X86_KERNELS)
  const Isa isa = usable_isa();
  if (isa == Isa::avx512) return avx512::sparse;
  if (isa == Isa::avx2) return avx2::sparse;
#endif
  return baseline::sparse;
}

const WindowTable& window_table() {
#if defined(TILEWRIGHT_X86_KERNELS)
  const Isa isa = usable_isa();
  if (isa == Isa::avx512) return avx512::windows;
  if (isa == Isa::avx2) return avx2::windows;
#endif
  return baseline::windows;
}

const ConvTable& conv_table() {
#if defined(TILEWRIGHT_X86_KERNELS)
  const Isa isa = usable_isa();
  if (isa == Isa::avx512) return avx512::convs;
  if (isa == Isa::avx2) return avx2::convs;
#endif
  return baseline::convs;
}

}  // namespace tilewright::cpu
