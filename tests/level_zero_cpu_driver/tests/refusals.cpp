// Wrong calls are refused with the result that fits, and a sentence.
#include "fixture.hpp"

TEST_CASE("handles are checked") {
  Fixture f;
  const auto event = f.event();
  CHECK(zeEventQueryStatus(nullptr) == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  CHECK(zeEventQueryStatus(reinterpret_cast<ze_event_handle_t>(0x1234)) ==
        ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(f.library.last_error().find("never given") != std::string::npos);
  int anything = 0;
  CHECK(zeEventQueryStatus(reinterpret_cast<ze_event_handle_t>(&anything)) ==
        ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(zeEventQueryStatus(reinterpret_cast<ze_event_handle_t>(f.context)) ==
        ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(f.library.last_error().find("a context handle") != std::string::npos);
  REQUIRE_OK(zeEventDestroy(event));
  CHECK(zeEventQueryStatus(event) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(f.library.last_error().find("was destroyed") != std::string::npos);
  CHECK(zeEventDestroy(event) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("a handle is never given twice") {
  Fixture f;
  const auto before = f.kernel("add");
  REQUIRE_OK(zeKernelDestroy(before));
  const auto after = f.kernel("add");
  CHECK(after != before);
  CHECK(zeKernelDestroy(before) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("descriptors are checked") {
  Fixture f;
  ze_context_desc_t desc{ZE_STRUCTURE_TYPE_MODULE_DESC};
  ze_context_handle_t context = nullptr;
  CHECK(zeContextCreate(first_driver(), &desc, &context) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(zeContextCreate(first_driver(), nullptr, &context) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  ze_command_queue_desc_t queue_desc{ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
  queue_desc.ordinal = 7;
  ze_command_list_handle_t list = nullptr;
  CHECK(zeCommandListCreateImmediate(f.context, f.device, &queue_desc, &list) ==
        ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("what others depend on is not destroyed") {
  Fixture f;
  const auto event = f.event();
  CHECK(zeEventPoolDestroy(f.pool()) == ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  CHECK(zeContextDestroy(f.context) == ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  REQUIRE_OK(zeEventDestroy(event));
  CHECK_OK(zeEventPoolDestroy(f.pool()));
  const auto kernel = f.kernel("add");
  CHECK(zeModuleDestroy(f.module()) == ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  REQUIRE_OK(zeKernelDestroy(kernel));
  CHECK_OK(zeModuleDestroy(f.module()));
  CHECK_OK(zeContextDestroy(f.context));
}

TEST_CASE("what a command uses is not destroyed before it has ended") {
  Fixture f;
  const auto list = f.immediate();
  auto* const value = f.device_memory<int>(1);
  const auto kernel = f.kernel("plus_one");
  const auto gate = f.event();
  REQUIRE_OK(set_argument(kernel, 0, value));
  const ze_group_count_t one{1, 1, 1};
  auto wait = gate;
  REQUIRE_OK(zeCommandListAppendLaunchKernel(list, kernel, &one, nullptr, 1, &wait));
  CHECK(zeMemFree(f.context, value) == ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  CHECK(zeKernelDestroy(kernel) == ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  CHECK(zeEventDestroy(gate) == ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  CHECK(zeCommandListDestroy(list) == ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  REQUIRE_OK(zeEventHostSignal(gate));
  REQUIRE_OK(f.finish(list));
  CHECK_OK(zeMemFree(f.context, value));
  CHECK_OK(zeKernelDestroy(kernel));
  CHECK_OK(zeEventDestroy(gate));
  CHECK_OK(zeCommandListDestroy(list));
}

TEST_CASE("kernel arguments are checked") {
  Fixture f;
  const auto list = f.immediate();
  auto* const memory = f.device_memory<float>(64);
  const auto kernel = f.kernel("add", 64);

  CHECK(f.launch(list, kernel) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(f.library.last_error().find("never set") != std::string::npos);
  CHECK(set_argument(kernel, 4, memory) == ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX);
  CHECK(set_argument(kernel, 0, uint32_t(1)) == ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE);
  CHECK(set_argument(kernel, 3, uint64_t(64)) == ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE);
  CHECK(zeKernelSetArgumentValue(kernel, 3, 4, nullptr) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  std::vector<float> host(64);
  CHECK(set_argument(kernel, 0, host.data()) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(f.library.last_error().find("in no allocation") != std::string::npos);

  auto* const freed = f.device_memory<float>(64);
  REQUIRE_OK(set_argument(kernel, 0, memory));
  REQUIRE_OK(set_argument(kernel, 1, memory + 63));
  REQUIRE_OK(set_argument(kernel, 2, freed));
  REQUIRE_OK(set_argument(kernel, 3, uint32_t(1)));
  REQUIRE_OK(f.launch(list, kernel));
  REQUIRE_OK(f.finish(list));
  REQUIRE_OK(zeMemFree(f.context, freed));
  CHECK(f.launch(list, kernel) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(f.library.last_error().find("freed") != std::string::npos);
  CHECK(set_argument(kernel, 2, freed) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("memory of another context is refused") {
  Fixture f, other;
  const auto list = f.immediate();
  const auto kernel = f.kernel("plus_one");
  REQUIRE_OK(set_argument(kernel, 0, other.device_memory<int>(1)));
  CHECK(f.launch(list, kernel) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(other.launch(other.immediate(), kernel) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(zeMemFree(f.context, other.device_memory<int>(1)) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("limits hold") {
  Fixture f;
  const auto list = f.immediate();
  const auto kernel = f.kernel("reverse_in_local", 32);
  CHECK(zeKernelSetGroupSize(kernel, 1025, 1, 1) == ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION);
  CHECK(zeKernelSetGroupSize(kernel, 64, 64, 1) == ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION);
  CHECK(zeKernelSetGroupSize(kernel, 0, 1, 1) == ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION);
  CHECK_OK(zeKernelSetGroupSize(kernel, 1024, 1, 1));
  CHECK(zeKernelSetGroupSize(f.kernel("sub_groups", 32), 16, 1, 1) ==
        ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION);

  auto* const memory = f.device_memory<float>(1024);
  REQUIRE_OK(set_argument(kernel, 0, memory));
  REQUIRE_OK(set_argument(kernel, 1, memory));
  REQUIRE_OK(zeKernelSetArgumentValue(kernel, 2, 65536 + 4, nullptr));
  REQUIRE_OK(set_argument(kernel, 3, uint32_t(1024)));
  CHECK(f.launch(list, kernel) == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
  REQUIRE_OK(zeKernelSetArgumentValue(kernel, 2, 65536, nullptr));
  CHECK_OK(f.launch(list, kernel));
  const ze_group_count_t many{0x80000000, 1, 1};
  CHECK(zeCommandListAppendLaunchKernel(list, kernel, &many, nullptr, 0, nullptr) ==
        ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK_OK(f.finish(list));

  ze_kernel_desc_t desc{ZE_STRUCTURE_TYPE_KERNEL_DESC};
  desc.pKernelName = "no_such_kernel";
  ze_kernel_handle_t none = nullptr;
  CHECK(zeKernelCreate(f.module(), &desc, &none) == ZE_RESULT_ERROR_INVALID_KERNEL_NAME);
  desc.pKernelName = "add";
  REQUIRE_OK(zeKernelCreate(f.module(), &desc, &none));
  for (uint32_t i = 0; i < 3; ++i) REQUIRE_OK(set_argument(none, i, memory));
  REQUIRE_OK(set_argument(none, 3, uint32_t(1)));
  CHECK(f.launch(list, none) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(f.library.last_error().find("group size") != std::string::npos);
}

TEST_CASE("copies and fills stay inside allocations") {
  Fixture f;
  const auto list = f.immediate();
  auto* const memory = f.device_memory(100);
  std::vector<char> host(200);
  const auto copy = [&](void* to, const void* from, size_t size) {
    return zeCommandListAppendMemoryCopy(list, to, from, size, nullptr, 0, nullptr);
  };
  CHECK(copy(memory, host.data(), 101) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(copy(host.data(), memory + 1, 100) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(copy(memory + 10, memory, 11) == ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
  CHECK_OK(copy(memory + 10, memory, 10));
  CHECK(copy(nullptr, memory, 10) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  CHECK_OK(f.finish(list));
  auto* const freed = f.device_memory(100);
  REQUIRE_OK(zeMemFree(f.context, freed));
  CHECK(copy(host.data(), freed, 1) == ZE_RESULT_ERROR_INVALID_ARGUMENT);

  const char pattern[3] = {};
  const auto fill = [&](void* to, size_t pattern_size, size_t size) {
    return zeCommandListAppendMemoryFill(list, to, pattern, pattern_size, size, nullptr, 0,
                                         nullptr);
  };
  CHECK(fill(memory, 3, 99) == ZE_RESULT_ERROR_INVALID_SIZE);
  CHECK(fill(memory, 2, 99) == ZE_RESULT_ERROR_INVALID_SIZE);
  CHECK(fill(memory, 1, 101) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(fill(host.data(), 1, 8) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("command lists are closed, executed and reset in that order") {
  Fixture f;
  const auto queue = f.queue();
  auto list = f.list();
  CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr) ==
        ZE_RESULT_ERROR_INVALID_ARGUMENT);
  const auto kernel = f.kernel("plus_one");
  auto* const value = f.device_memory<int>(1);
  *value = 0;
  REQUIRE_OK(set_argument(kernel, 0, value));
  REQUIRE_OK(f.launch(list, kernel));
  REQUIRE_OK(zeCommandListClose(list));
  CHECK(f.launch(list, kernel) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  auto immediate = f.immediate();
  CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &immediate, nullptr) ==
        ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE);
  CHECK(zeCommandListReset(immediate) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  REQUIRE_OK(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
  REQUIRE_OK(zeCommandQueueSynchronize(queue, kForever));
  CHECK(*value == 1);

  // A recorded kernel that is gone is noticed when the list is executed.
  REQUIRE_OK(zeKernelDestroy(kernel));
  CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr) ==
        ZE_RESULT_ERROR_INVALID_ARGUMENT);
  REQUIRE_OK(zeCommandListReset(list));
  REQUIRE_OK(zeCommandListClose(list));
  CHECK_OK(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
  CHECK_OK(zeCommandQueueSynchronize(queue, kForever));
}

TEST_CASE("event pools give each event once") {
  Fixture f;
  const auto event = f.event();
  ze_event_desc_t desc{ZE_STRUCTURE_TYPE_EVENT_DESC};
  ze_event_handle_t other = nullptr;
  CHECK(zeEventCreate(f.pool(), &desc, &other) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  desc.index = 64;
  CHECK(zeEventCreate(f.pool(), &desc, &other) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  REQUIRE_OK(zeEventDestroy(event));
  desc.index = 0;
  CHECK_OK(zeEventCreate(f.pool(), &desc, &other));
}

TEST_CASE("a host waits for events that are visible to it") {
  Fixture f;
  const ze_event_pool_desc_t pool_desc{ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr, 0, 1};
  ze_event_pool_handle_t pool = nullptr;
  REQUIRE_OK(zeEventPoolCreate(f.context, &pool_desc, 1, &f.device, &pool));
  const ze_event_desc_t desc{ZE_STRUCTURE_TYPE_EVENT_DESC};
  ze_event_handle_t event = nullptr;
  REQUIRE_OK(zeEventCreate(pool, &desc, &event));
  CHECK(zeEventHostSynchronize(event, 0) == ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
  CHECK(zeEventQueryStatus(event) == ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
  ze_kernel_timestamp_result_t times{};
  CHECK(zeEventQueryKernelTimestamp(event, &times) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
}
