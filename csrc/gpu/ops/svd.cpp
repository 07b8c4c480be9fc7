#include "core/ops/svd.hpp"

#include "core/text.hpp"
#include "gpu/backend.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_svd(const SvdRequest&) {
  throw Unsupported(
      text("svd: the ", name(), " backend does not have this op; compute it on the cpu backend"));
}

}  // namespace tilewright::gpu
