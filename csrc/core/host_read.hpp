#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace tilewright {

/// Memory of the host that a read fills after its call, and who keeps it till then.
struct HostRead {
  std::span<std::byte> dst;
  std::shared_ptr<const void> owner;
};

}  // namespace tilewright
