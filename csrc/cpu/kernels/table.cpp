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
  static const KernelTable& chosen = usable_isa() == Isa::avx512 ? avx512::table
                                     : usable_isa() == Isa::avx2 ? avx2::table
                                                                 : baseline::table;
  return chosen;
#else
  return baseline::table;
#endif
}

}  // namespace tilewright::cpu
