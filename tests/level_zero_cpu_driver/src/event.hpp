// Events in pools, and fences.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "device.hpp"
#include "object.hpp"
#include "signal.hpp"

namespace ze_cpu {

class EventPool : public Object {
 public:
  using Handle = ze_event_pool_handle_t;
  static constexpr Kind kKind = Kind::event_pool;
  EventPool(std::shared_ptr<Object> context, uint32_t count, ze_event_pool_flags_t flags)
      : Object(kKind, {std::move(context)}), flags(flags), taken(count) {}

  const ze_event_pool_flags_t flags;
  std::mutex mutex;
  std::vector<bool> taken;
};

class Event : public Object {
 public:
  using Handle = ze_event_handle_t;
  static constexpr Kind kKind = Kind::event;
  Event(std::shared_ptr<EventPool> pool, uint32_t index)
      : Object(kKind, {pool}), pool(std::move(pool)), index(index) {}

  bool has_timestamps() const { return pool->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP; }
  ze_kernel_timestamp_result_t timestamps() const;

  const std::shared_ptr<EventPool> pool;
  const uint32_t index;
  Signal signal;
  std::atomic<uint64_t> start{0};
  std::atomic<uint64_t> end{0};
};

class Fence : public Object {
 public:
  using Handle = ze_fence_handle_t;
  static constexpr Kind kKind = Kind::fence;
  explicit Fence(std::shared_ptr<Object> queue) : Object(kKind, {std::move(queue)}) {}

  Signal signal;
};

}  // namespace ze_cpu
