#include "selection/absent.hpp"
#include "selection/backends.hpp"

namespace tilewright {

BackendEntry level_zero_entry() {
  return {"level-zero", [](const Config&) { return absent_devices("level-zero"); },
          [](const Config& config) { return make_absent("level-zero", config); },
          [](const Config&) {}};
}

}  // namespace tilewright
