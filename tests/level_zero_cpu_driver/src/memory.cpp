#include "memory.hpp"

#include <signal.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <shared_mutex>

#include "api.hpp"
#include "log.hpp"
#include "settings.hpp"

namespace ze_cpu {
namespace {

constexpr unsigned char kGuardByte = 0xa5;
// Not a number as half, float or double, and a large integer: stale reads show.
constexpr unsigned char kPoison = 0xff;
constexpr size_t kAlignment = 64;
constexpr size_t kPage = 4096;
// Freed memory stays away from the next allocation for so long that a late use of it is noticed.
constexpr size_t kQuarantine = size_t(64) << 20;

struct Memory {
  std::shared_mutex mutex;
  std::map<uintptr_t, std::shared_ptr<Allocation>> live;
  std::map<uintptr_t, std::shared_ptr<Allocation>> freed;
  std::deque<uintptr_t> freed_order;
  size_t freed_bytes = 0;
  std::atomic<uint64_t> device_bytes{0};
  std::atomic<uint64_t> next{1};
};

Memory& memory() {
  static Memory* const instance = new Memory;
  return *instance;
}

using Map = std::map<uintptr_t, std::shared_ptr<Allocation>>;

Map::iterator containing(Map& map, uintptr_t address) {
  auto after = map.upper_bound(address);
  if (after == map.begin()) return map.end();
  --after;
  return address < after->first + after->second->size ? after : map.end();
}

std::atomic<const char*> running{nullptr};
struct sigaction before_ours;

/// The sentence for a touch of memory that is nobody's, by the allocation next to it.
void describe_fault(const Map& live, uintptr_t address) {
  const auto next = live.upper_bound(address);
  const Allocation* nearest = nullptr;
  size_t distance = SIZE_MAX;
  const char* where = "past the end";
  if (next != live.begin()) {
    const auto& [start, allocation] = *std::prev(next);
    nearest = allocation.get();
    distance = address - start - allocation->size;
  }
  if (next != live.end() && next->first - address - 1 < distance) {
    nearest = next->second.get();
    distance = next->first - address - 1;
    where = "before the start";
  }
  // Farther away it is another fault, that has nothing to do with allocations.
  constexpr size_t near = size_t(1) << 30;
  if (nearest == nullptr || distance > near) return;
  const char* const name = running;
  std::fprintf(stderr, "ze_cpu: %s touched memory %zu bytes %s of allocation %llu of %zu bytes\n",
               name == nullptr ? "the program" : name, distance, where,
               static_cast<unsigned long long>(nearest->number), nearest->size);
}

/// The process ends all the same: by the same instruction, which runs again without this.
void on_fault(int signal, siginfo_t* info, void*) {
  Memory& all = memory();
  if (all.mutex.try_lock_shared()) {
    describe_fault(all.live, reinterpret_cast<uintptr_t>(info->si_addr));
    all.mutex.unlock_shared();
  }
  sigaction(signal, &before_ours, nullptr);
}

void report_faults() {
  static const bool done = [] {
    struct sigaction ours = {};
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO;
    return sigaction(SIGSEGV, &ours, &before_ours) == 0;
  }();
  static_cast<void>(done);
}

bool is_power_of_two(size_t value) { return (value & (value - 1)) == 0; }

bool is_relaxed(const ze_device_mem_alloc_desc_t* desc) {
  if (desc == nullptr || desc->pNext == nullptr) return false;
  const auto* const next = static_cast<const ze_relaxed_allocation_limits_exp_desc_t*>(desc->pNext);
  return next->stype == ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC &&
         (next->flags & ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE) != 0;
}

void* allocate(ze_context_handle_t context, ze_memory_type_t type, ze_device_handle_t device,
               size_t size, size_t alignment, bool relaxed) {
  const auto parent = find<Context>(context);
  if (size == 0) fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "an allocation of 0 bytes");
  if (!is_power_of_two(alignment) || alignment > (size_t(1) << 21)) {
    fail(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, "an alignment of ", alignment,
         "; expected a power of two of at most 2 MiB");
  }
  if (size > Limits::kAllocation && !relaxed) {
    fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, size, " bytes are more than maxMemAllocSize, ",
         Limits::kAllocation, "; larger ones need relaxed allocation limits");
  }
  Memory& all = memory();
  if (type != ZE_MEMORY_TYPE_HOST) {
    find<Device>(device)->require_present();
    const uint64_t used = all.device_bytes;
    if (size > settings().memory_limit || used > settings().memory_limit - size) {
      fail(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, size, " bytes asked for, ", used, " of ",
           settings().memory_limit, " in use");
    }
  }
  std::shared_ptr<Allocation> made;
  try {
    made =
        std::make_shared<Allocation>(parent, type, device, size, std::max(alignment, kAlignment));
  } catch (const std::bad_alloc&) {
    fail(type == ZE_MEMORY_TYPE_HOST ? ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY
                                     : ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
         "the system has no ", size, " bytes",
         settings().guard_pages ? ", or no place for more guard pages (raise vm.max_map_count)"
                                : "");
  }
  if (settings().guard_pages) report_faults();
  made->begin_life();
  if (type != ZE_MEMORY_TYPE_HOST) all.device_bytes += size;
  const std::unique_lock lock(all.mutex);
  all.live.emplace(reinterpret_cast<uintptr_t>(made->data()), made);
  return made->data();
}

/// Keeps the allocation among the freed ones, and lets the oldest of those go.
void retire(Memory& all, std::shared_ptr<Allocation> allocation) {
  std::vector<std::shared_ptr<Allocation>> released;
  const std::unique_lock lock(all.mutex);
  if (allocation->footprint() > kQuarantine) return;
  const auto address = reinterpret_cast<uintptr_t>(allocation->data());
  all.freed_bytes += allocation->footprint();
  all.freed_order.push_back(address);
  all.freed.emplace(address, std::move(allocation));
  while (all.freed_bytes > kQuarantine) {
    const auto oldest = all.freed.find(all.freed_order.front());
    all.freed_bytes -= oldest->second->footprint();
    released.push_back(std::move(oldest->second));
    all.freed.erase(oldest);
    all.freed_order.pop_front();
  }
}

std::shared_ptr<Allocation> require_memory(const void* pointer) {
  auto allocation = find_memory(pointer, 0, "the pointer");
  if (allocation == nullptr) {
    fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the pointer ", pointer, " is in no allocation");
  }
  return allocation;
}

void free_memory(ze_context_handle_t context, void* pointer) {
  const auto parent = find<Context>(context);
  require_pointer(pointer, "ptr");
  const auto allocation = require_memory(pointer);
  if (allocation->data() != pointer) {
    fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the pointer ", pointer, " is ",
         static_cast<char*>(pointer) - allocation->data(), " bytes into its allocation");
  }
  if (allocation->parents.front() != parent) {
    fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the memory belongs to another context");
  }
  allocation->require_unused();
  Memory& all = memory();
  {
    const std::unique_lock lock(all.mutex);
    all.live.erase(reinterpret_cast<uintptr_t>(pointer));
  }
  allocation->end_life();
  if (allocation->type != ZE_MEMORY_TYPE_HOST) all.device_bytes -= allocation->size;
  const std::string damage = allocation->damage();
  if (settings().poison) std::memset(allocation->data(), kPoison, allocation->size);
  retire(all, allocation);
  if (!damage.empty()) {
    complain(damage);
    fail(ZE_RESULT_ERROR_UNKNOWN, damage);
  }
}

}  // namespace

Allocation::Allocation(std::shared_ptr<Object> context, ze_memory_type_t type,
                       ze_device_handle_t device, size_t size, size_t alignment)
    : Object(kKind, {std::move(context)}),
      type(type),
      device(device),
      size(size),
      number(memory().next++),
      block_(size, alignment) {
  std::memset(data() - block_.band_before(), kGuardByte, block_.band_before());
  std::memset(data() + size, kGuardByte, block_.band_after());
  if (settings().poison) std::memset(data(), kPoison, size);
}

std::string Allocation::damage() {
  // Kept to the end of the process, in which queued kernels still come here.
  static const auto* whole = new std::string(Block::kBand, char(kGuardByte));
  const size_t front = block_.band_before();
  const bool before = std::memcmp(data() - front, whole->data(), front) != 0;
  const bool after = std::memcmp(data() + size, whole->data(), block_.band_after()) != 0;
  if ((!before && !after) || reported_) return {};
  reported_ = true;
  size_t distance = 0;
  if (after) {
    while (data()[size + distance] == char(kGuardByte)) ++distance;
  } else {
    while (data()[-1 - ptrdiff_t(distance)] == char(kGuardByte)) ++distance;
  }
  return text("memory was written ", distance, " bytes ",
              after ? "past the end" : "before the start", " of allocation ", number, " of ", size,
              " bytes");
}

void set_running(const char* name) { running = name; }

std::shared_ptr<Allocation> find_memory(const void* pointer, size_t bytes, const char* what) {
  Memory& all = memory();
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const std::shared_lock lock(all.mutex);
  const auto found = containing(all.live, address);
  if (found == all.live.end()) {
    if (containing(all.freed, address) != all.freed.end()) {
      fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, what, " ", pointer, " points into freed memory");
    }
    return nullptr;
  }
  const size_t offset = address - found->first;
  if (bytes > found->second->size - offset) {
    fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, what, " covers ", bytes, " bytes from offset ", offset,
         " of an allocation of ", found->second->size);
  }
  return found->second;
}

namespace api {

ze_result_t zeMemAllocShared(ze_context_handle_t context,
                             const ze_device_mem_alloc_desc_t* device_desc,
                             const ze_host_mem_alloc_desc_t* host_desc, size_t size,
                             size_t alignment, ze_device_handle_t device, void** pointer) {
  require_descriptor(device_desc, ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, "device_desc");
  require_descriptor(host_desc, ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, "host_desc");
  require_pointer(pointer, "pptr");
  *pointer =
      allocate(context, ZE_MEMORY_TYPE_SHARED, device, size, alignment, is_relaxed(device_desc));
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeMemAllocDevice(ze_context_handle_t context, const ze_device_mem_alloc_desc_t* desc,
                             size_t size, size_t alignment, ze_device_handle_t device,
                             void** pointer) {
  require_descriptor(desc, ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, "device_desc");
  if (desc->ordinal != 0) {
    fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "memory ordinal ", desc->ordinal, " of 1");
  }
  require_pointer(pointer, "pptr");
  *pointer = allocate(context, ZE_MEMORY_TYPE_DEVICE, device, size, alignment, is_relaxed(desc));
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeMemAllocHost(ze_context_handle_t context, const ze_host_mem_alloc_desc_t* desc,
                           size_t size, size_t alignment, void** pointer) {
  require_descriptor(desc, ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, "host_desc");
  require_pointer(pointer, "pptr");
  *pointer = allocate(context, ZE_MEMORY_TYPE_HOST, nullptr, size, alignment, true);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeMemFree(ze_context_handle_t context, void* pointer) {
  free_memory(context, pointer);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeMemGetAllocProperties(ze_context_handle_t context, const void* pointer,
                                    ze_memory_allocation_properties_t* properties,
                                    ze_device_handle_t* device) {
  find<Context>(context);
  require_descriptor(properties, ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES,
                     "pMemAllocProperties");
  const auto allocation = find_memory(pointer, 0, "the pointer");
  properties->type = allocation == nullptr ? ZE_MEMORY_TYPE_UNKNOWN : allocation->type;
  properties->id = allocation == nullptr ? 0 : allocation->number;
  properties->pageSize = allocation == nullptr ? 0 : kPage;
  if (device != nullptr) *device = allocation == nullptr ? nullptr : allocation->device;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeMemGetAddressRange(ze_context_handle_t context, const void* pointer, void** base,
                                 size_t* size) {
  find<Context>(context);
  const auto allocation = require_memory(pointer);
  if (base != nullptr) *base = allocation->data();
  if (size != nullptr) *size = allocation->size;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeContextMakeMemoryResident(ze_context_handle_t context, ze_device_handle_t device,
                                        void* pointer, size_t size) {
  find<Context>(context);
  find<Device>(device);
  find_memory(pointer, size, "the memory to make resident");
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeContextEvictMemory(ze_context_handle_t context, ze_device_handle_t device,
                                 void* pointer, size_t size) {
  find<Context>(context);
  find<Device>(device);
  find_memory(pointer, size, "the memory to evict");
  return ZE_RESULT_SUCCESS;
}

}  // namespace api
}  // namespace ze_cpu
