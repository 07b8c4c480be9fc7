// Every device that every backend can see, and why one cannot be used.

#include <cstdio>
#include <string>

#include "tilewright/tilewright.hpp"

namespace tw = tilewright;

int main() {
  for (const tw::DeviceInfo& device : tw::devices()) {
    const std::string kind(tw::to_string(device.kind));
    std::printf("%-13s %-11s %s\n", device.id.c_str(), kind.c_str(),
                device.available ? device.name.c_str() : device.reason.c_str());
  }
  std::printf("auto is %s\n", tw::init_backend()->device().id.c_str());
}
