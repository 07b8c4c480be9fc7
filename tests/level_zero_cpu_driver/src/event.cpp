#include "event.hpp"

#include "api.hpp"
#include "queue.hpp"

namespace ze_cpu {
namespace {

std::shared_ptr<Event> host_visible(ze_event_handle_t handle) {
  auto event = find<Event>(handle);
  if ((event->pool->flags & ZE_EVENT_POOL_FLAG_HOST_VISIBLE) == 0) {
    fail(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
         "the event's pool was made without ZE_EVENT_POOL_FLAG_HOST_VISIBLE");
  }
  return event;
}

}  // namespace

ze_kernel_timestamp_result_t Event::timestamps() const {
  const ze_kernel_timestamp_data_t span{start, end};
  return {span, span};
}

namespace api {

ze_result_t zeEventPoolCreate(ze_context_handle_t context, const ze_event_pool_desc_t* desc,
                              uint32_t device_count, ze_device_handle_t* devices,
                              ze_event_pool_handle_t* pool) {
  const auto parent = find<Context>(context);
  require_descriptor(desc, ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, "desc");
  require_pointer(pool, "phEventPool");
  if (desc->count == 0) fail(ZE_RESULT_ERROR_INVALID_SIZE, "an event pool of 0 events");
  for (uint32_t i = 0; i < device_count; ++i) find<Device>(devices[i]);
  *pool = publish(std::make_shared<EventPool>(parent, desc->count, desc->flags));
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventPoolDestroy(ze_event_pool_handle_t pool) {
  destroy<EventPool>(pool);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventCreate(ze_event_pool_handle_t handle, const ze_event_desc_t* desc,
                          ze_event_handle_t* event) {
  const auto pool = find<EventPool>(handle);
  require_descriptor(desc, ZE_STRUCTURE_TYPE_EVENT_DESC, "desc");
  require_pointer(event, "phEvent");
  const std::lock_guard lock(pool->mutex);
  if (desc->index >= pool->taken.size()) {
    fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "event ", desc->index, " of a pool of ",
         pool->taken.size());
  }
  if (pool->taken[desc->index]) {
    fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "event ", desc->index, " of the pool is in use");
  }
  pool->taken[desc->index] = true;
  *event = publish(std::make_shared<Event>(pool, desc->index));
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventDestroy(ze_event_handle_t handle) {
  const auto event = find<Event>(handle);
  destroy<Event>(handle);
  const std::lock_guard lock(event->pool->mutex);
  event->pool->taken[event->index] = false;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventHostSignal(ze_event_handle_t event) {
  host_visible(event)->signal.set();
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventHostSynchronize(ze_event_handle_t event, uint64_t timeout) {
  return host_visible(event)->signal.wait(timeout);
}

ze_result_t zeEventQueryStatus(ze_event_handle_t event) {
  return host_visible(event)->signal.wait(0);
}

ze_result_t zeEventHostReset(ze_event_handle_t event) {
  host_visible(event)->signal.reset();
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventQueryKernelTimestamp(ze_event_handle_t handle,
                                        ze_kernel_timestamp_result_t* result) {
  const auto event = find<Event>(handle);
  require_pointer(result, "dstptr");
  if (!event->has_timestamps()) {
    fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
         "the event's pool was made without ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP");
  }
  if (!event->signal.is_set()) return ZE_RESULT_NOT_READY;
  *result = event->timestamps();
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeFenceCreate(ze_command_queue_handle_t queue, const ze_fence_desc_t* desc,
                          ze_fence_handle_t* fence) {
  const auto parent = find<Queue>(queue);
  require_descriptor(desc, ZE_STRUCTURE_TYPE_FENCE_DESC, "desc");
  require_pointer(fence, "phFence");
  const auto made = std::make_shared<Fence>(parent);
  if (desc->flags & ZE_FENCE_FLAG_SIGNALED) made->signal.set();
  *fence = publish(made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeFenceDestroy(ze_fence_handle_t fence) {
  destroy<Fence>(fence);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeFenceHostSynchronize(ze_fence_handle_t fence, uint64_t timeout) {
  return find<Fence>(fence)->signal.wait(timeout);
}

ze_result_t zeFenceQueryStatus(ze_fence_handle_t fence) {
  return find<Fence>(fence)->signal.wait(0);
}

ze_result_t zeFenceReset(ze_fence_handle_t fence) {
  find<Fence>(fence)->signal.reset();
  return ZE_RESULT_SUCCESS;
}

}  // namespace api
}  // namespace ze_cpu
