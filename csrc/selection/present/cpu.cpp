#include "cpu/backend.hpp"
#include "selection/backends.hpp"

namespace tilewright {

BackendEntry cpu_entry() {
  return {"cpu", [] { return std::vector<DeviceInfo>{cpu::describe_processor()}; },
          [](const Config& config) -> std::shared_ptr<Backend> {
            return std::make_shared<cpu::CpuBackend>(config);
          }};
}

}  // namespace tilewright
