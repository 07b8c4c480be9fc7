// The driver's devices: one for each that ZE_CPU_DEVICES asks for, with ZE_CPU_TILES sub-devices.
#pragma once

#include <vector>

#include "object.hpp"

namespace ze_cpu {

struct Limits {
  static constexpr uint32_t kGroupItems = 1024;
  static constexpr uint32_t kGroupCount = 0x7fffffff;
  static constexpr uint32_t kLocalMemory = 64 * 1024;
  static constexpr uint64_t kAllocation = uint64_t(4) << 30;
  static constexpr uint64_t kFillPattern = 128;
  static constexpr uint32_t kQueuesPerGroup = 4;
};

class Driver : public Object {
 public:
  using Handle = ze_driver_handle_t;
  static constexpr Kind kKind = Kind::driver;
  Driver() : Object(kKind) {}
};

class Device : public Object {
 public:
  using Handle = ze_device_handle_t;
  static constexpr Kind kKind = Kind::device;
  Device(uint32_t index, const Device* root, uint32_t tile)
      : Object(kKind), index(index), root(root), tile(tile) {}

  bool is_tile() const { return root != nullptr; }
  /// Throws DEVICE_LOST after the devices were lost.
  void require_present() const;

  const uint32_t index;
  const Device* const root;
  const uint32_t tile;
  ze_device_handle_t handle = nullptr;
  std::vector<ze_device_handle_t> tiles;
};

class Context : public Object {
 public:
  using Handle = ze_context_handle_t;
  static constexpr Kind kKind = Kind::context;
  Context() : Object(kKind) {}
};

/// Which kinds of work the queue group takes: one for compute and copies, on request one for
/// copies.
struct QueueGroup {
  bool compute;
};
const std::vector<QueueGroup>& queue_groups();
const QueueGroup& queue_group(uint32_t ordinal, uint32_t index);

bool devices_are_lost();
void lose_devices();
/// Counts a command that runs on a device, and loses the devices when ZE_CPU_LOSE_AFTER says so.
void count_command();

/// Nanoseconds since some fixed moment: the one clock of host and devices.
uint64_t now();

}  // namespace ze_cpu
