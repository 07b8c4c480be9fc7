#include "selection/absent.hpp"
#include "selection/backends.hpp"

namespace tilewright {

BackendEntry webgpu_entry() {
  return {"webgpu", [](const Config&) { return absent_devices("webgpu"); },
          [](const Config& config) { return make_absent("webgpu", config); }, [](const Config&) {}};
}

}  // namespace tilewright
