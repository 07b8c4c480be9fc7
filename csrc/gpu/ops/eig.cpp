#include "core/ops/eig.hpp"

#include "core/text.hpp"
#include "gpu/backend.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_eig(const EigRequest&) {
  throw Unsupported(
      text("eig: the ", name(), " backend does not have this op; compute it on the cpu backend"));
}

}  // namespace tilewright::gpu
