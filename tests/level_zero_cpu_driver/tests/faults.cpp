// Failures that a test asks for, lost devices, and what is left alive.
#include <functional>

#include "fixture.hpp"

namespace {

/// Everything a small program does, as steps that may fail, and the end of all that it made.
class Program {
 public:
  explicit Program(const std::vector<uint8_t>& binary) : binary_(binary) {}
  ~Program() {
    for (auto step = undo_.rbegin(); step != undo_.rend(); ++step) (*step)();
  }

  /// The first result that was not success.
  ze_result_t run() {
    uint32_t count = 1;
    ze_driver_handle_t driver = nullptr;
    ze_device_handle_t device = nullptr;
    ze_context_handle_t context = nullptr;
    const ze_context_desc_t context_desc{ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    if (auto r = zeDriverGet(&count, &driver)) return r;
    if (auto r = zeDeviceGet(driver, &count, &device)) return r;
    if (auto r = zeContextCreate(driver, &context_desc, &context)) return r;
    undo_.push_back([=] { zeContextDestroy(context); });

    ze_command_queue_desc_t queue_desc{ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_list_handle_t list = nullptr;
    if (auto r = zeCommandListCreateImmediate(context, device, &queue_desc, &list)) return r;
    undo_.push_back([=] { zeCommandListDestroy(list); });

    const ze_event_pool_desc_t pool_desc{ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr,
                                         ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 2};
    ze_event_pool_handle_t pool = nullptr;
    if (auto r = zeEventPoolCreate(context, &pool_desc, 1, &device, &pool)) return r;
    undo_.push_back([=] { zeEventPoolDestroy(pool); });
    ze_event_desc_t event_desc{ZE_STRUCTURE_TYPE_EVENT_DESC};
    ze_event_handle_t event = nullptr, idle = nullptr;
    if (auto r = zeEventCreate(pool, &event_desc, &event)) return r;
    undo_.push_back([=] { zeEventDestroy(event); });
    event_desc.index = 1;
    if (auto r = zeEventCreate(pool, &event_desc, &idle)) return r;
    undo_.push_back([=] { zeEventDestroy(idle); });

    auto module_desc = Fixture::module_desc(binary_);
    module_desc.format = ZE_MODULE_FORMAT_NATIVE;
    ze_module_handle_t module = nullptr;
    if (auto r = zeModuleCreate(context, device, &module_desc, &module, nullptr)) return r;
    undo_.push_back([=] { zeModuleDestroy(module); });
    ze_kernel_desc_t kernel_desc{ZE_STRUCTURE_TYPE_KERNEL_DESC};
    kernel_desc.pKernelName = "plus_one";
    ze_kernel_handle_t kernel = nullptr;
    if (auto r = zeKernelCreate(module, &kernel_desc, &kernel)) return r;
    undo_.push_back([=] { zeKernelDestroy(kernel); });

    const ze_device_mem_alloc_desc_t memory_desc{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    void* memory = nullptr;
    if (auto r = zeMemAllocDevice(context, &memory_desc, 4, 4, device, &memory)) return r;
    undo_.push_back([=] { zeMemFree(context, memory); });
    // What was queued must end before its memory goes. A call fails once.
    undo_.push_back([=] {
      while (zeCommandListAppendBarrier(list, idle, 0, nullptr) != ZE_RESULT_SUCCESS) continue;
      while (zeEventHostSynchronize(idle, kForever) != ZE_RESULT_SUCCESS) continue;
    });

    const int start = 41;
    if (auto r = zeKernelSetGroupSize(kernel, 1, 1, 1)) return r;
    if (auto r = zeKernelSetArgumentValue(kernel, 0, sizeof(memory), &memory)) return r;
    if (auto r = zeCommandListAppendMemoryFill(list, memory, &start, 4, 4, nullptr, 0, nullptr)) {
      return r;
    }
    if (auto r = zeCommandListAppendBarrier(list, nullptr, 0, nullptr)) return r;
    const ze_group_count_t one{1, 1, 1};
    if (auto r = zeCommandListAppendLaunchKernel(list, kernel, &one, event, 0, nullptr)) return r;
    if (auto r = zeEventHostSynchronize(event, kForever)) return r;
    return *static_cast<int*>(memory) == 42 ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_UNKNOWN;
  }

 private:
  const std::vector<uint8_t>& binary_;
  std::vector<std::function<void()>> undo_;
};

}  // namespace

TEST_CASE("every call fails in turn, and nothing stays alive") {
  const auto binary = [] {
    Fixture f;
    std::vector<uint8_t> bytes = f.native_binary();
    f.close();
    return bytes;
  }();
  const DriverLibrary library;
  const uint64_t before = library.call_count();
  uint64_t working_calls = 0;
  {
    Program program(binary);
    REQUIRE_OK(program.run());
    working_calls = library.call_count() - before;
  }
  const uint64_t all_calls = library.call_count() - before;
  REQUIRE(library.live_objects() == "");
  REQUIRE(working_calls > 15);
  REQUIRE(all_calls > working_calls);

  for (const ze_result_t asked :
       {ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY}) {
    for (uint64_t call = 1; call <= all_calls; ++call) {
      CAPTURE(call);
      library.fail_call(std::to_string(call).c_str(), asked);
      {
        Program program(binary);
        CHECK(program.run() == (call <= working_calls ? asked : ZE_RESULT_SUCCESS));
      }
      CAPTURE(library.failed_call());
      CHECK(library.failed_call() != "");
      CHECK(library.live_objects() == "");
    }
  }
  library.fail_call(nullptr, ZE_RESULT_SUCCESS);
  Program program(binary);
  CHECK_OK(program.run());
}

TEST_CASE("the environment names the call that fails") {
  setenv("ZE_CPU_FAIL_CALL", "zeEventCreate:2", 1);
  setenv("ZE_CPU_FAIL_RESULT", "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY", 1);
  Fixture f;
  f.event();
  ze_event_desc_t desc{ZE_STRUCTURE_TYPE_EVENT_DESC};
  desc.index = 1;
  ze_event_handle_t event = nullptr;
  CHECK(zeEventCreate(f.pool(), &desc, &event) == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
  CHECK(f.library.failed_call() == "zeEventCreate");
  CHECK_OK(zeEventCreate(f.pool(), &desc, &event));
}

TEST_CASE("live objects are counted by kind") {
  Fixture f;
  CHECK(f.library.live_objects() == "context 1\n");
  const auto event = f.event();
  f.kernel("add");
  auto* const memory = f.device_memory(8);
  f.device_memory(8);
  CHECK(f.library.live_objects() ==
        "context 1\nevent_pool 1\nevent 1\nmodule 1\nkernel 1\nmemory 2\n");
  REQUIRE_OK(zeMemFree(f.context, memory));
  REQUIRE_OK(zeEventDestroy(event));
  CHECK(f.library.live_objects() == "context 1\nevent_pool 1\nmodule 1\nkernel 1\nmemory 1\n");
}

TEST_CASE("a device that is lost answers so, and all can still be destroyed") {
  Fixture f;
  const auto list = f.immediate();
  const auto gate = f.event();
  const auto done = f.event();
  auto* const memory = f.device_memory<int>(1);
  const auto kernel = f.kernel("plus_one");
  REQUIRE_OK(set_argument(kernel, 0, memory));
  auto wait = gate;
  const ze_group_count_t one{1, 1, 1};
  REQUIRE_OK(zeCommandListAppendLaunchKernel(list, kernel, &one, done, 1, &wait));
  f.library.lose_devices();
  CHECK(zeEventHostSynchronize(done, kForever) == ZE_RESULT_ERROR_DEVICE_LOST);
  CHECK(zeDeviceGetStatus(f.device) == ZE_RESULT_ERROR_DEVICE_LOST);
  CHECK(zeContextGetStatus(f.context) == ZE_RESULT_ERROR_DEVICE_LOST);
  CHECK(f.launch(list, kernel) == ZE_RESULT_ERROR_DEVICE_LOST);
  CHECK_OK(zeCommandListDestroy(list));
  CHECK_OK(zeKernelDestroy(kernel));
  CHECK_OK(zeMemFree(f.context, memory));
  CHECK_OK(zeEventDestroy(gate));
  CHECK_OK(zeEventDestroy(done));
  f.close();
  CHECK(f.library.live_objects() == "");
}

TEST_CASE("a device is lost after so many commands") {
  setenv("ZE_CPU_LOSE_AFTER", "3", 1);
  Fixture f;
  const auto list = f.immediate();
  for (int i = 0; i < 3; ++i) CHECK_OK(f.finish(list));
  CHECK(f.finish(list) == ZE_RESULT_ERROR_DEVICE_LOST);
}

TEST_CASE("a lost device can hang instead") {
  setenv("ZE_CPU_LOSE_AFTER", "0", 1);
  setenv("ZE_CPU_LOST_HANGS", "1", 1);
  Fixture f;
  const auto list = f.immediate();
  CHECK(f.finish(list, 50 * kMillisecond) == ZE_RESULT_NOT_READY);
  CHECK(zeDeviceGetStatus(f.device) == ZE_RESULT_ERROR_DEVICE_LOST);
}

TEST_CASE("a call that fails with DEVICE_LOST loses the device") {
  setenv("ZE_CPU_FAIL_CALL", "zeCommandListAppendBarrier", 1);
  setenv("ZE_CPU_FAIL_RESULT", "DEVICE_LOST", 1);
  Fixture f;
  const auto list = f.immediate();
  CHECK(zeCommandListAppendBarrier(list, nullptr, 0, nullptr) == ZE_RESULT_ERROR_DEVICE_LOST);
  CHECK(zeDeviceGetStatus(f.device) == ZE_RESULT_ERROR_DEVICE_LOST);
}

TEST_CASE("without the OpenCL runtime the loader finds no driver") {
  setenv("ZE_CPU_OPENCL", "/no/such/library.so", 1);
  CHECK(zeInit(0) == ZE_RESULT_ERROR_UNINITIALIZED);
}
