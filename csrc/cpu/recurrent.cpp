#include "core/ops/recurrent.hpp"

#include "cpu/backend.hpp"

namespace tilewright::cpu {

void CpuBackend::do_recurrent(const RecurrentRequest&) {
  throw Unsupported("recurrent: the cpu backend does not have this op");
}

}  // namespace tilewright::cpu
