#include "core/ops/map_many.hpp"

#include "cpu/backend.hpp"
#include "tilewright/error.hpp"

namespace tilewright::cpu {

void CpuBackend::do_map_many(const MapManyRequest&) { throw Unsupported("map_many: not yet"); }

}  // namespace tilewright::cpu
