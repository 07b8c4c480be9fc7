#include "gpu/backend.hpp"

namespace tilewright::gpu {

void GpuBackend::do_begin_profile() { device_->begin_timing(); }

Profile GpuBackend::do_end_profile() { return {device_->end_timing()}; }

}  // namespace tilewright::gpu
