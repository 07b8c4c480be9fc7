// Allocations: what they say, and how misuse of them shows.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "fixture.hpp"

namespace {

struct Ended {
  int status;
  std::string said;
};

/// A process of its own, with guard pages, that reads one byte of 1,000 at this index.
Ended read_between_guard_pages(int64_t index) {
  std::array<int, 2> pipe_ends{};
  REQUIRE(pipe(pipe_ends.data()) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_ends[1], STDERR_FILENO);
    setenv("ZE_CPU_GUARD_PAGES", "1", 1);
    Fixture f;
    const auto list = f.immediate();
    const auto kernel = f.kernel("read_at");
    auto* const memory = f.device_memory<unsigned char>(1000);
    auto* const result = f.device_memory<unsigned char>(1);
    memory[999] = 7;
    const bool read = set_argument(kernel, 0, memory) == ZE_RESULT_SUCCESS &&
                      set_argument(kernel, 1, result) == ZE_RESULT_SUCCESS &&
                      set_argument(kernel, 2, index) == ZE_RESULT_SUCCESS &&
                      f.launch(list, kernel) == ZE_RESULT_SUCCESS &&
                      f.finish(list) == ZE_RESULT_SUCCESS;
    _exit(read ? result[0] : 1);
  }
  close(pipe_ends[1]);
  Ended ended{};
  std::array<char, 4096> part{};
  for (ssize_t n; (n = read(pipe_ends[0], part.data(), part.size())) > 0;) {
    ended.said.append(part.data(), size_t(n));
  }
  close(pipe_ends[0]);
  REQUIRE(waitpid(child, &ended.status, 0) == child);
  return ended;
}

}  // namespace

TEST_CASE("allocations of the three kinds know what they are") {
  Fixture f;
  const ze_device_mem_alloc_desc_t device_desc{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  const ze_host_mem_alloc_desc_t host_desc{ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  void *device = nullptr, *host = nullptr, *shared = nullptr;
  REQUIRE_OK(zeMemAllocDevice(f.context, &device_desc, 100, 4096, f.device, &device));
  REQUIRE_OK(zeMemAllocHost(f.context, &host_desc, 100, 0, &host));
  REQUIRE_OK(zeMemAllocShared(f.context, &device_desc, &host_desc, 100, 1, f.device, &shared));
  CHECK(reinterpret_cast<uintptr_t>(device) % 4096 == 0);
  CHECK(reinterpret_cast<uintptr_t>(host) % 64 == 0);

  ze_memory_allocation_properties_t properties{ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
  ze_device_handle_t owner = nullptr;
  const auto type_of = [&](const void* pointer) {
    REQUIRE_OK(zeMemGetAllocProperties(f.context, pointer, &properties, &owner));
    return properties.type;
  };
  CHECK(type_of(static_cast<char*>(device) + 99) == ZE_MEMORY_TYPE_DEVICE);
  CHECK(owner == f.device);
  CHECK(type_of(host) == ZE_MEMORY_TYPE_HOST);
  CHECK(owner == nullptr);
  CHECK(type_of(shared) == ZE_MEMORY_TYPE_SHARED);
  CHECK(type_of(&properties) == ZE_MEMORY_TYPE_UNKNOWN);

  void* base = nullptr;
  size_t size = 0;
  REQUIRE_OK(zeMemGetAddressRange(f.context, static_cast<char*>(device) + 50, &base, &size));
  CHECK(base == device);
  CHECK(size == 100);

  CHECK(zeMemFree(f.context, static_cast<char*>(device) + 1) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(zeMemFree(f.context, &size) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  for (void* pointer : {device, host, shared}) CHECK_OK(zeMemFree(f.context, pointer));
  CHECK(zeMemFree(f.context, device) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(zeMemAllocHost(f.context, &host_desc, 0, 0, &host) == ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  CHECK(zeMemAllocHost(f.context, &host_desc, 8, 3, &host) ==
        ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT);
}

TEST_CASE("fresh memory is poison") {
  Fixture f;
  auto* const memory = f.device_memory<unsigned char>(1000);
  CHECK(std::count(memory, memory + 1000, 0xff) == 1000);
}

TEST_CASE("a kernel that writes past an allocation is named at the next wait") {
  Fixture f;
  const auto list = f.immediate();
  const auto kernel = f.kernel("write_at");
  auto* const memory = f.device_memory(100);
  REQUIRE_OK(set_argument(kernel, 0, memory));
  for (const int64_t index : {int64_t(102), int64_t(-3)}) {
    auto* const fresh = f.device_memory(100);
    REQUIRE_OK(set_argument(kernel, 0, fresh));
    REQUIRE_OK(set_argument(kernel, 1, index));
    const auto event = f.event();
    const ze_group_count_t one{1, 1, 1};
    REQUIRE_OK(zeCommandListAppendLaunchKernel(list, kernel, &one, event, 0, nullptr));
    CHECK(zeEventHostSynchronize(event, kForever) == ZE_RESULT_ERROR_UNKNOWN);
    const std::string said = f.library.last_error();
    CHECK(said.find("kernel write_at") != std::string::npos);
    CHECK(said.find(index > 0 ? "2 bytes past the end" : "2 bytes before the start") !=
          std::string::npos);
    // Said once.
    CHECK_OK(zeEventHostSynchronize(event, kForever));
    CHECK_OK(zeMemFree(f.context, fresh));
  }
  REQUIRE_OK(set_argument(kernel, 0, memory));
  REQUIRE_OK(set_argument(kernel, 1, int64_t(99)));
  REQUIRE_OK(f.launch(list, kernel));
  CHECK_OK(f.finish(list));
}

TEST_CASE("a kernel that reads beyond guard pages ends the process and is named") {
  const Ended inside = read_between_guard_pages(999);
  CHECK(WIFEXITED(inside.status));
  CHECK(WEXITSTATUS(inside.status) == 7);
  for (const int64_t index : {int64_t(1024), int64_t(1'000'000), int64_t(-5000)}) {
    const Ended outside = read_between_guard_pages(index);
    REQUIRE(WIFSIGNALED(outside.status));
    CHECK(WTERMSIG(outside.status) == SIGSEGV);
    const std::string where = index > 0 ? std::to_string(index - 1000) + " bytes past the end"
                                        : std::to_string(-1 - index) + " bytes before the start";
    CHECK_MESSAGE(outside.said.find("kernel read_at touched memory " + where +
                                    " of allocation 1 of 1000 bytes") != std::string::npos,
                  outside.said);
  }
}

TEST_CASE("a host that writes past an allocation hears of it when it frees") {
  Fixture f;
  auto* const memory = f.device_memory(10);
  memory[10] = 0;
  CHECK(zeMemFree(f.context, memory) == ZE_RESULT_ERROR_UNKNOWN);
  CHECK(f.library.last_error().find("0 bytes past the end") != std::string::npos);
  CHECK(f.library.live_objects().find("memory") == std::string::npos);
}

TEST_CASE("device memory is limited") {
  setenv("ZE_CPU_MEMORY", "1000000", 1);
  Fixture f;
  const ze_device_mem_alloc_desc_t desc{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  const ze_host_mem_alloc_desc_t host_desc{ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  void *first = nullptr, *second = nullptr;
  REQUIRE_OK(zeMemAllocDevice(f.context, &desc, 600000, 0, f.device, &first));
  CHECK(zeMemAllocDevice(f.context, &desc, 600000, 0, f.device, &second) ==
        ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
  CHECK_OK(zeMemAllocHost(f.context, &host_desc, 2000000, 0, &second));
  REQUIRE_OK(zeMemFree(f.context, first));
  CHECK_OK(zeMemAllocDevice(f.context, &desc, 1000000, 0, f.device, &second));
}

TEST_CASE("an allocation above 4 GB needs relaxed limits") {
  setenv("ZE_CPU_POISON", "0", 1);
  setenv("ZE_CPU_MEMORY", "100000000000", 1);
  Fixture f;
  const size_t size = (size_t(4) << 30) + 4096;
  ze_device_mem_alloc_desc_t desc{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  void* pointer = nullptr;
  CHECK(zeMemAllocDevice(f.context, &desc, size, 0, f.device, &pointer) ==
        ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  const ze_relaxed_allocation_limits_exp_desc_t relaxed{
      ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC, nullptr,
      ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE};
  desc.pNext = &relaxed;
  REQUIRE_OK(zeMemAllocDevice(f.context, &desc, size, 0, f.device, &pointer));
  const auto list = f.immediate();
  const auto kernel = f.kernel("write_at");
  REQUIRE_OK(set_argument(kernel, 0, pointer));
  REQUIRE_OK(set_argument(kernel, 1, int64_t(size - 1)));
  REQUIRE_OK(f.launch(list, kernel));
  REQUIRE_OK(f.finish(list));
  CHECK(static_cast<char*>(pointer)[size - 1] == 1);
  CHECK_OK(zeMemFree(f.context, pointer));
}
