#include "cpu/kernels/table.hpp"

#include "cpu/processor.hpp"

namespace tilewright::cpu {

namespace baseline {
extern const KernelTable table;
}
#if defined(TILEWRIGHT_X86_KERNELS)
namespace avx2 {
extern const KernelTable table;
}
namespace avx512 {
extern const KernelTable table;
}
#endif

const KernelTable& kernels() {
#if defined(TILEWRIGHT_X86_KERNELS)
  const Isa isa = usable_isa();
  if (isa == Isa::avx512) return avx512::table;
  if (isa == Isa::avx2) return avx2::table;
#endif
  return baseline::table;
}

}  // namespace tilewright::cpu
