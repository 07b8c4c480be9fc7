#include "core/ops/map_many.hpp"

#include "gpu/backend.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_map_many(const MapManyRequest&) { throw Unsupported("map_many: not yet"); }

}  // namespace tilewright::gpu
