// The calls that append commands other than kernels.
#include <algorithm>
#include <cstring>
#include <vector>

#include "api.hpp"
#include "command_list.hpp"

namespace ze_cpu {
namespace {

bool overlap(const char* a, const char* b, size_t size) { return a < b + size && b < a + size; }

void fill(char* to, const std::vector<char>& pattern, size_t size) {
  if (pattern.size() == 1) {
    std::memset(to, pattern[0], size);
    return;
  }
  for (size_t i = 0; i < size; i += pattern.size())
    std::memcpy(to + i, pattern.data(), pattern.size());
}

struct Region {
  ze_copy_region_t box;
  size_t pitch;
  size_t slice;

  size_t offset(size_t y, size_t z) const {
    return box.originX + (box.originY + y) * pitch + (box.originZ + z) * slice;
  }
  size_t depth() const { return std::max<size_t>(box.depth, 1); }
  /// One past the last byte.
  size_t end() const { return offset(box.height - 1, depth() - 1) + box.width; }
};

void copy(ze_command_list_handle_t handle, void* to, const void* from, size_t size,
          ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t* waits) {
  const auto list = find<CommandList>(handle);
  require_pointer(to, "dstptr");
  require_pointer(from, "srcptr");
  Command command = make_command("memory copy", signal, wait_count, waits);
  command.use(find_memory(to, size, "the destination of the copy"));
  command.use(find_memory(from, size, "the source of the copy"));
  auto* const target = static_cast<char*>(to);
  const auto* const source = static_cast<const char*>(from);
  if (overlap(target, source, size)) {
    fail(ZE_RESULT_ERROR_OVERLAPPING_REGIONS, "source and destination of the copy overlap");
  }
  command.run = [=](Worker&) { std::memcpy(target, source, size); };
  list->append(std::move(command));
}

void order(ze_command_list_handle_t handle, const char* name, ze_event_handle_t signal,
           uint32_t wait_count, ze_event_handle_t* waits) {
  const auto list = find<CommandList>(handle);
  Command command = make_command(name, signal, wait_count, waits);
  command.orders = true;
  list->append(std::move(command));
}

}  // namespace

namespace api {

ze_result_t zeCommandListAppendMemoryCopy(ze_command_list_handle_t list, void* to, const void* from,
                                          size_t size, ze_event_handle_t signal,
                                          uint32_t wait_count, ze_event_handle_t* waits) {
  copy(list, to, from, size, signal, wait_count, waits);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListAppendMemoryCopyFromContext(ze_command_list_handle_t list, void* to,
                                                     ze_context_handle_t source_context,
                                                     const void* from, size_t size,
                                                     ze_event_handle_t signal, uint32_t wait_count,
                                                     ze_event_handle_t* waits) {
  find<Context>(source_context);
  copy(list, to, from, size, signal, wait_count, waits);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListAppendMemoryFill(ze_command_list_handle_t handle, void* to,
                                          const void* pattern, size_t pattern_size, size_t size,
                                          ze_event_handle_t signal, uint32_t wait_count,
                                          ze_event_handle_t* waits) {
  const auto list = find<CommandList>(handle);
  require_pointer(to, "ptr");
  require_pointer(pattern, "pattern");
  const bool is_power = pattern_size != 0 && (pattern_size & (pattern_size - 1)) == 0;
  if (!is_power || pattern_size > Limits::kFillPattern || size % pattern_size != 0) {
    fail(ZE_RESULT_ERROR_INVALID_SIZE, "a pattern of ", pattern_size, " bytes for ", size,
         "; expected a power of two of at most ", Limits::kFillPattern, " that divides the size");
  }
  Command command = make_command("memory fill", signal, wait_count, waits);
  const auto allocation = find_memory(to, size, "the memory to fill");
  if (allocation == nullptr) {
    fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the memory to fill is in no allocation");
  }
  command.use(allocation);
  const auto* const bytes = static_cast<const char*>(pattern);
  command.run = [to = static_cast<char*>(to), size,
                 kept = std::vector<char>(bytes, bytes + pattern_size)](Worker&) {
    fill(to, kept, size);
  };
  list->append(std::move(command));
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListAppendMemoryCopyRegion(
    ze_command_list_handle_t handle, void* to, const ze_copy_region_t* to_region, uint32_t to_pitch,
    uint32_t to_slice, const void* from, const ze_copy_region_t* from_region, uint32_t from_pitch,
    uint32_t from_slice, ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t* waits) {
  const auto list = find<CommandList>(handle);
  require_pointer(to, "dstptr");
  require_pointer(from, "srcptr");
  require_pointer(to_region, "dstRegion");
  require_pointer(from_region, "srcRegion");
  const Region target{*to_region, to_pitch, to_slice};
  const Region source{*from_region, from_pitch, from_slice};
  if (target.box.width != source.box.width || target.box.height != source.box.height ||
      target.box.depth != source.box.depth) {
    fail(ZE_RESULT_ERROR_INVALID_SIZE, "the regions of the copy differ in size");
  }
  if (target.box.width == 0 || target.box.height == 0) {
    fail(ZE_RESULT_ERROR_INVALID_SIZE, "the regions of the copy are empty");
  }
  Command command = make_command("memory copy of a region", signal, wait_count, waits);
  command.use(find_memory(to, target.end(), "the destination of the copy"));
  command.use(find_memory(from, source.end(), "the source of the copy"));
  command.run = [=](Worker&) {
    for (size_t z = 0; z < target.depth(); ++z) {
      for (size_t y = 0; y < target.box.height; ++y) {
        std::memcpy(static_cast<char*>(to) + target.offset(y, z),
                    static_cast<const char*>(from) + source.offset(y, z), target.box.width);
      }
    }
  };
  list->append(std::move(command));
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListAppendBarrier(ze_command_list_handle_t list, ze_event_handle_t signal,
                                       uint32_t wait_count, ze_event_handle_t* waits) {
  order(list, "barrier", signal, wait_count, waits);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListAppendMemoryRangesBarrier(ze_command_list_handle_t list, uint32_t count,
                                                   const size_t* sizes, const void** ranges,
                                                   ze_event_handle_t signal, uint32_t wait_count,
                                                   ze_event_handle_t* waits) {
  require_pointer(sizes, "pRangeSizes");
  require_pointer(ranges, "pRanges");
  for (uint32_t i = 0; i < count; ++i) find_memory(ranges[i], sizes[i], "a range of the barrier");
  order(list, "memory ranges barrier", signal, wait_count, waits);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListAppendSignalEvent(ze_command_list_handle_t list, ze_event_handle_t event) {
  find<Event>(event);
  order(list, "signal", event, 0, nullptr);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListAppendWaitOnEvents(ze_command_list_handle_t list, uint32_t count,
                                            ze_event_handle_t* events) {
  order(list, "wait", nullptr, count, events);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListAppendEventReset(ze_command_list_handle_t handle,
                                          ze_event_handle_t event_handle) {
  const auto list = find<CommandList>(handle);
  const auto event = find<Event>(event_handle);
  Command command = make_command("event reset", nullptr, 0, nullptr);
  command.orders = true;
  command.uses.push_back(event);
  command.run = [event](Worker&) { event->signal.reset(); };
  list->append(std::move(command));
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListAppendWriteGlobalTimestamp(ze_command_list_handle_t handle, uint64_t* to,
                                                    ze_event_handle_t signal, uint32_t wait_count,
                                                    ze_event_handle_t* waits) {
  const auto list = find<CommandList>(handle);
  require_pointer(to, "dstptr");
  Command command = make_command("global timestamp", signal, wait_count, waits);
  command.orders = true;
  command.use(find_memory(to, sizeof(*to), "the place for the timestamp"));
  command.run = [to](Worker&) { *to = now(); };
  list->append(std::move(command));
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListAppendQueryKernelTimestamps(ze_command_list_handle_t handle,
                                                     uint32_t count, ze_event_handle_t* events,
                                                     void* to, const size_t* offsets,
                                                     ze_event_handle_t signal, uint32_t wait_count,
                                                     ze_event_handle_t* waits) {
  const auto list = find<CommandList>(handle);
  require_pointer(events, "phEvents");
  require_pointer(to, "dstptr");
  Command command = make_command("kernel timestamps", signal, wait_count, waits);
  std::vector<std::pair<std::shared_ptr<Event>, char*>> results;
  for (uint32_t i = 0; i < count; ++i) {
    const size_t offset =
        offsets == nullptr ? i * sizeof(ze_kernel_timestamp_result_t) : offsets[i];
    char* const place = static_cast<char*>(to) + offset;
    command.use(find_memory(place, sizeof(ze_kernel_timestamp_result_t),
                            "the place for the kernel timestamps"));
    results.emplace_back(find<Event>(events[i]), place);
    command.uses.push_back(results.back().first);
  }
  command.run = [results](Worker&) {
    for (const auto& [event, place] : results) {
      const ze_kernel_timestamp_result_t result = event->timestamps();
      std::memcpy(place, &result, sizeof(result));
    }
  };
  list->append(std::move(command));
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListAppendMemoryPrefetch(ze_command_list_handle_t list, const void* pointer,
                                              size_t size) {
  find<CommandList>(list);
  find_memory(pointer, size, "the memory to prefetch");
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListAppendMemAdvise(ze_command_list_handle_t list, ze_device_handle_t device,
                                         const void* pointer, size_t size, ze_memory_advice_t) {
  find<CommandList>(list);
  find<Device>(device);
  find_memory(pointer, size, "the memory of the advice");
  return ZE_RESULT_SUCCESS;
}

}  // namespace api
}  // namespace ze_cpu
