// What handles stand for. A handle is a number that is never given twice, so one that was
// destroyed, is of another kind or was never given is told from a good one without reading through
// it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "failure.hpp"

namespace ze_cpu {

enum class Kind : uint8_t {
  driver,
  device,
  context,
  command_queue,
  command_list,
  fence,
  event_pool,
  event,
  module,
  build_log,
  kernel,
  memory,
  count
};

const char* name_of(Kind kind);

class Object {
 public:
  using Parents = std::vector<std::shared_ptr<Object>>;

  explicit Object(Kind kind, Parents parents = {}) : kind(kind), parents(std::move(parents)) {}
  virtual ~Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  /// Throws HANDLE_OBJECT_IN_USE while others depend on this object.
  void require_unused() const;

  /// From the start to the end of an object's life as a program sees it: the object itself may be
  /// kept a little longer by a command that is just ending.
  void begin_life();
  void end_life();

  const Kind kind;
  const Parents parents;
  std::atomic<int> children{0};
  /// Commands that were submitted with this object and have not ended.
  std::atomic<int> in_flight{0};
  std::atomic<bool> destroyed{false};
};

/// Objects by handle.
uintptr_t add_handle(std::shared_ptr<Object> object);
std::shared_ptr<Object> find_handle(uintptr_t handle, Kind kind);
void remove_handle(uintptr_t handle);

template <typename T>
typename T::Handle publish(std::shared_ptr<T> object) {
  return reinterpret_cast<typename T::Handle>(add_handle(std::move(object)));
}

template <typename T>
std::shared_ptr<T> find(typename T::Handle handle) {
  return std::static_pointer_cast<T>(find_handle(reinterpret_cast<uintptr_t>(handle), T::kKind));
}

/// Ends the life of a handle that nothing depends on.
template <typename T>
void destroy(typename T::Handle handle) {
  const std::shared_ptr<T> object = find<T>(handle);
  object->require_unused();
  remove_handle(reinterpret_cast<uintptr_t>(handle));
}

/// How many objects of a kind are alive.
int live(Kind kind);

/// One line "kind count" for each kind that a program creates and has left alive.
std::string live_objects();

}  // namespace ze_cpu
