#include "gpu/backend.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_rmsnorm(const NormRequest& request) { norm("rmsnorm", request, false); }

}  // namespace tilewright::gpu
