// What most tests start with: a context, a device, a module with the kernels of kernels.cl.
#pragma once

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <level_zero/ze_api.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "ze_cpu.h"

constexpr uint64_t kForever = UINT64_MAX;
constexpr uint64_t kMillisecond = 1000000;

#define REQUIRE_OK(call) REQUIRE((call) == ZE_RESULT_SUCCESS)
#define CHECK_OK(call) CHECK((call) == ZE_RESULT_SUCCESS)

/// The copy of the driver that the loader has opened.
class DriverLibrary {
 public:
  DriverLibrary() : library_(dlopen(std::getenv("ZE_ENABLE_ALT_DRIVERS"), RTLD_NOW)) {
    REQUIRE(library_ != nullptr);
  }
  template <typename Function>
  Function* find(const char* name) const {
    auto* const function = reinterpret_cast<Function*>(dlsym(library_, name));
    REQUIRE_MESSAGE(bool(function), name);
    return function;
  }
  std::string text(const char* name) const {
    char buffer[4096];
    find<size_t(char*, size_t)>(name)(buffer, sizeof(buffer));
    return buffer;
  }
  std::string live_objects() const { return text("zeCpuLiveObjects"); }
  std::string last_error() const { return text("zeCpuLastError"); }
  std::string failed_call() const { return text("zeCpuFailedCall"); }
  uint64_t call_count() const { return find<uint64_t()>("zeCpuCallCount")(); }
  void fail_call(const char* what, ze_result_t result) const {
    find<void(const char*, ze_result_t)>("zeCpuFailCall")(what, result);
  }
  void lose_devices() const { find<void()>("zeCpuLoseDevices")(); }

 private:
  void* library_;
};

inline std::vector<uint8_t> kernels_spirv() {
  std::ifstream file(KERNELS, std::ios::binary);
  std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  REQUIRE(!bytes.empty());
  return bytes;
}

inline ze_driver_handle_t first_driver() {
  REQUIRE_OK(zeInit(0));
  uint32_t count = 1;
  ze_driver_handle_t driver = nullptr;
  REQUIRE_OK(zeDriverGet(&count, &driver));
  return driver;
}

inline std::vector<ze_device_handle_t> all_devices() {
  uint32_t count = 0;
  const ze_driver_handle_t driver = first_driver();
  REQUIRE_OK(zeDeviceGet(driver, &count, nullptr));
  std::vector<ze_device_handle_t> devices(count);
  REQUIRE_OK(zeDeviceGet(driver, &count, devices.data()));
  return devices;
}

class Fixture {
 public:
  Fixture() : device(all_devices().at(0)) {
    const ze_context_desc_t desc{ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    REQUIRE_OK(zeContextCreate(first_driver(), &desc, &context));
  }

  ze_module_handle_t module() {
    if (module_ == nullptr) {
      const auto spirv = kernels_spirv();
      const auto desc = module_desc(spirv);
      REQUIRE_OK(zeModuleCreate(context, device, &desc, &module_, nullptr));
    }
    return module_;
  }

  static ze_module_desc_t module_desc(const std::vector<uint8_t>& spirv) {
    ze_module_desc_t desc{ZE_STRUCTURE_TYPE_MODULE_DESC};
    desc.format = ZE_MODULE_FORMAT_IL_SPIRV;
    desc.inputSize = spirv.size();
    desc.pInputModule = spirv.data();
    return desc;
  }

  std::vector<uint8_t> native_binary() {
    size_t size = 0;
    REQUIRE_OK(zeModuleGetNativeBinary(module(), &size, nullptr));
    std::vector<uint8_t> bytes(size);
    REQUIRE_OK(zeModuleGetNativeBinary(module(), &size, bytes.data()));
    return bytes;
  }

  /// Destroys what the fixture itself has made.
  void close() {
    if (module_ != nullptr) REQUIRE_OK(zeModuleDestroy(module_));
    if (pool_ != nullptr) REQUIRE_OK(zeEventPoolDestroy(pool_));
    REQUIRE_OK(zeContextDestroy(context));
  }

  ze_kernel_handle_t kernel(const char* name, uint32_t group_size = 1) {
    return kernel_of(module(), name, group_size);
  }
  static ze_kernel_handle_t kernel_of(ze_module_handle_t module, const char* name,
                                      uint32_t group_size = 1) {
    ze_kernel_desc_t desc{ZE_STRUCTURE_TYPE_KERNEL_DESC};
    desc.pKernelName = name;
    ze_kernel_handle_t made = nullptr;
    REQUIRE_OK(zeKernelCreate(module, &desc, &made));
    REQUIRE_OK(zeKernelSetGroupSize(made, group_size, 1, 1));
    return made;
  }

  template <typename T = char>
  T* device_memory(size_t count) {
    const ze_device_mem_alloc_desc_t desc{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    void* pointer = nullptr;
    REQUIRE_OK(zeMemAllocDevice(context, &desc, count * sizeof(T), 0, device, &pointer));
    return static_cast<T*>(pointer);
  }

  ze_command_list_handle_t immediate(ze_command_queue_flags_t flags = 0, uint32_t ordinal = 0) {
    ze_command_queue_desc_t desc{ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    desc.ordinal = ordinal;
    desc.flags = flags;
    desc.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
    ze_command_list_handle_t list = nullptr;
    REQUIRE_OK(zeCommandListCreateImmediate(context, device, &desc, &list));
    return list;
  }

  ze_command_list_handle_t list() {
    const ze_command_list_desc_t desc{ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_command_list_handle_t made = nullptr;
    REQUIRE_OK(zeCommandListCreate(context, device, &desc, &made));
    return made;
  }

  ze_command_queue_handle_t queue() {
    ze_command_queue_desc_t desc{ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    desc.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
    ze_command_queue_handle_t made = nullptr;
    REQUIRE_OK(zeCommandQueueCreate(context, device, &desc, &made));
    return made;
  }

  ze_event_pool_handle_t pool() {
    if (pool_ == nullptr) {
      ze_event_pool_desc_t desc{ZE_STRUCTURE_TYPE_EVENT_POOL_DESC};
      desc.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;
      desc.count = 64;
      REQUIRE_OK(zeEventPoolCreate(context, &desc, 1, &device, &pool_));
    }
    return pool_;
  }

  ze_event_handle_t event() {
    ze_event_desc_t desc{ZE_STRUCTURE_TYPE_EVENT_DESC};
    desc.index = next_event_++;
    desc.signal = desc.wait = ZE_EVENT_SCOPE_FLAG_HOST;
    ze_event_handle_t made = nullptr;
    REQUIRE_OK(zeEventCreate(pool(), &desc, &made));
    return made;
  }

  /// Waits for all that the immediate list was given.
  ze_result_t finish(ze_command_list_handle_t list, uint64_t timeout = kForever) {
    const ze_event_handle_t done = event();
    REQUIRE_OK(zeCommandListAppendBarrier(list, done, 0, nullptr));
    return zeEventHostSynchronize(done, timeout);
  }

  ze_result_t launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
                     uint32_t groups = 1) {
    const ze_group_count_t count{groups, 1, 1};
    return zeCommandListAppendLaunchKernel(list, kernel, &count, nullptr, 0, nullptr);
  }

  DriverLibrary library;
  ze_device_handle_t device;
  ze_context_handle_t context = nullptr;

 private:
  ze_module_handle_t module_ = nullptr;
  ze_event_pool_handle_t pool_ = nullptr;
  uint32_t next_event_ = 0;
};

template <typename T>
ze_result_t set_argument(ze_kernel_handle_t kernel, uint32_t index, T value) {
  return zeKernelSetArgumentValue(kernel, index, sizeof(value), &value);
}
