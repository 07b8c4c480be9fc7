#include "cpu/processor.hpp"
#include "cpu/thread_pool.hpp"
#include "cpu/timed_backend.hpp"
#include "selection/backends.hpp"

namespace tilewright {

BackendEntry cpu_entry() {
  return {"cpu", [](const Config&) { return std::vector<DeviceInfo>{cpu::describe_processor()}; },
          [](const Config& config) -> std::shared_ptr<Backend> {
            return std::make_shared<cpu::TimedCpuBackend>(config);
          },
          [](const Config&) {
            (void)cpu::usable_isa();
            (void)cpu::thread_count();
          }};
}

}  // namespace tilewright
