#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/ops/norm_row.hpp"

namespace tilewright::cpu {

void CpuBackend::do_layer_norm(const NormRequest& r) {
  normalize_rows<true>(
      r, []<class T>(const T* x, std::size_t n, double eps) { return centred_scale(x, n, eps); });
}

}  // namespace tilewright::cpu
