#include "core/row_parts.hpp"
#include "gpu/backend.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {

void GpuBackend::run_op(OpId, std::string_view, const RowsRequest& r,
                        void (GpuBackend::*launch)(const RowsRequest&)) {
  (this->*launch)(r);
}

void GpuBackend::launch_map_rows(const RowsRequest& r) {
  if (!launch_rows(r)) throw Unsupported("map_rows");
}

bool GpuBackend::launch_rows(const RowsRequest&) { return false; }

}  // namespace tilewright::gpu
