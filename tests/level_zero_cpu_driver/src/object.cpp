#include "object.hpp"

#include <iterator>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "device.hpp"

namespace ze_cpu {
namespace {

constexpr const char* kNames[] = {"driver",       "device",    "context",    "command_queue",
                                  "command_list", "fence",     "event_pool", "event",
                                  "module",       "build_log", "kernel",     "memory"};
static_assert(std::size(kNames) == size_t(Kind::count));

struct Handles {
  std::shared_mutex mutex;
  std::unordered_map<uintptr_t, std::shared_ptr<Object>> objects;
  uintptr_t next = 1;
  std::atomic<int> live[size_t(Kind::count)] = {};
};

// Never destroyed: programs call the driver while the process ends.
Handles& handles() {
  static Handles* const instance = new Handles;
  return *instance;
}

// Far from any address, and telling in a debugger: "ZE", then the kind, then the number.
constexpr uintptr_t kPrefix = uintptr_t(0x5a45) << 48;

}  // namespace

const char* name_of(Kind kind) { return kNames[size_t(kind)]; }

void Object::begin_life() {
  ++handles().live[size_t(kind)];
  for (const auto& parent : parents) ++parent->children;
}

void Object::end_life() {
  destroyed = true;
  --handles().live[size_t(kind)];
  for (const auto& parent : parents) --parent->children;
}

void Object::require_unused() const {
  // What a lost device was doing will never end.
  if (in_flight > 0 && !devices_are_lost()) {
    fail(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "this ", name_of(kind), " is used by ",
         in_flight.load(), " commands that have not ended");
  }
  if (children > 0) {
    fail(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "this ", name_of(kind), " still has ",
         children.load(), " objects that were made from it");
  }
}

uintptr_t add_handle(std::shared_ptr<Object> object) {
  Handles& table = handles();
  object->begin_life();
  const std::unique_lock lock(table.mutex);
  const uintptr_t handle = kPrefix | uintptr_t(object->kind) << 40 | table.next++;
  table.objects.emplace(handle, std::move(object));
  return handle;
}

std::shared_ptr<Object> find_handle(uintptr_t handle, Kind kind) {
  if (handle == 0) {
    fail(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "the ", name_of(kind), " handle is null");
  }
  Handles& table = handles();
  const std::shared_lock lock(table.mutex);
  const auto found = table.objects.find(handle);
  if (found == table.objects.end()) {
    const uintptr_t number = handle & ((uintptr_t(1) << 40) - 1);
    const bool given = handle >> 48 == kPrefix >> 48 && number < table.next;
    fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the ", name_of(kind), " handle ", handle,
         given ? " was destroyed" : " was never given by this driver");
  }
  if (found->second->kind != kind) {
    fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "a ", name_of(found->second->kind),
         " handle is given where a ", name_of(kind), " is expected");
  }
  return found->second;
}

void remove_handle(uintptr_t handle) {
  Handles& table = handles();
  std::shared_ptr<Object> object;
  {
    const std::unique_lock lock(table.mutex);
    const auto found = table.objects.find(handle);
    if (found == table.objects.end()) return;
    object = std::move(found->second);
    table.objects.erase(found);
  }
  object->end_life();
}

int live(Kind kind) { return handles().live[size_t(kind)]; }

std::string live_objects() {
  std::string lines;
  for (size_t kind = size_t(Kind::context); kind < size_t(Kind::count); ++kind) {
    const int count = handles().live[kind];
    if (count > 0) lines += text(kNames[kind], ' ', count, '\n');
  }
  return lines;
}

}  // namespace ze_cpu
