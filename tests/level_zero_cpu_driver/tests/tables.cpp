// The tables that a loader of any version gets, asked for as a loader does.
#include <cstring>
#include <map>

#include "fixture.hpp"

namespace {

using Call = ze_result_t (*)(void*, void*, void*, void*, void*, void*);
using GetTable = ze_result_t(ze_api_version_t, void*);

constexpr uintptr_t kUntouched = 0x1111111111111111;

std::vector<uintptr_t> table(const DriverLibrary& library, const std::string& name,
                             uint32_t minor) {
  std::vector<uintptr_t> entries(64, kUntouched);
  const auto get = library.find<GetTable>(("zeGet" + name + "ProcAddrTable").c_str());
  REQUIRE_OK(get(ze_api_version_t(ZE_MAKE_VERSION(1, minor)), entries.data()));
  return entries;
}

size_t written(const std::vector<uintptr_t>& entries) {
  size_t count = 0;
  while (entries[count] != kUntouched) {
    REQUIRE(entries[count] != 0);
    ++count;
  }
  for (size_t i = count; i < entries.size(); ++i) REQUIRE(entries[i] == kUntouched);
  return count;
}

template <typename Function>
Function* newer_call(const DriverLibrary& library, const char* name, size_t index) {
  return reinterpret_cast<Function*>(table(library, name, 13)[index]);
}

}  // namespace

TEST_CASE("tables hold what the version covers, and no null") {
  const DriverLibrary library;
  // Entries of version 1.0, of 1.4 (Debian's) and of 1.10.
  const std::map<std::string, std::vector<size_t>> sizes{
      {"Global", {1, 1, 2}},    {"Driver", {5, 6, 7}},       {"Device", {14, 18, 19}},
      {"Context", {8, 9, 9}},   {"CommandQueue", {4, 4, 6}}, {"CommandList", {26, 28, 34}},
      {"Image", {3, 4, 5}},     {"Fence", {5, 5, 5}},        {"EventPool", {5, 5, 8}},
      {"Event", {7, 7, 11}},    {"Module", {8, 9, 9}},       {"ModuleBuildLog", {2, 2, 2}},
      {"Kernel", {12, 12, 12}}, {"Sampler", {2, 2, 2}},      {"PhysicalMem", {2, 2, 2}},
      {"Mem", {9, 10, 12}},     {"VirtualMem", {7, 7, 7}},
  };
  for (const auto& [name, expected] : sizes) {
    CAPTURE(name);
    CHECK(written(table(library, name, 0)) == expected[0]);
    CHECK(written(table(library, name, 4)) == expected[1]);
    CHECK(written(table(library, name, 10)) == expected[2]);
  }
  const auto get = library.find<GetTable>("zeGetGlobalProcAddrTable");
  uintptr_t entry = 0;
  CHECK(get(ze_api_version_t(ZE_MAKE_VERSION(2, 0)), &entry) ==
        ZE_RESULT_ERROR_UNSUPPORTED_VERSION);
  CHECK(get(ZE_API_VERSION_1_0, nullptr) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
}

TEST_CASE("calls that the driver lacks say so") {
  Fixture f;
  const auto images = table(f.library, "Image", 4);
  for (size_t i = 0; i < 4; ++i) {
    const auto call = reinterpret_cast<Call>(images[i]);
    CHECK(call(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) ==
          ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
  }
  size_t page = 0;
  CHECK(zeVirtualMemQueryPageSize(f.context, f.device, 1, &page) ==
        ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
}

TEST_CASE("calls that are newer than Debian's loader") {
  Fixture f;
  uint32_t count = 1;
  ze_driver_handle_t driver = nullptr;
  int descriptor = 0;
  const auto init =
      newer_call<ze_result_t(uint32_t*, ze_driver_handle_t*, void*)>(f.library, "Global", 1);
  REQUIRE_OK(init(&count, &driver, &descriptor));
  CHECK(driver == first_driver());

  const auto describe =
      newer_call<ze_result_t(ze_driver_handle_t, const char**)>(f.library, "Driver", 6);
  CHECK(zeEventQueryStatus(nullptr) == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  const char* description = nullptr;
  REQUIRE_OK(describe(driver, &description));
  CHECK(std::strcmp(description, "zeEventQueryStatus: the event handle is null") == 0);

  const auto synchronize =
      newer_call<ze_result_t(ze_command_list_handle_t, uint64_t)>(f.library, "CommandList", 28);
  const auto list = f.immediate();
  const auto kernel = f.kernel("plus_one");
  auto* const value = f.device_memory<int>(1);
  *value = 1;
  auto gate = f.event();
  REQUIRE_OK(set_argument(kernel, 0, value));
  const ze_group_count_t one{1, 1, 1};
  REQUIRE_OK(zeCommandListAppendLaunchKernel(list, kernel, &one, nullptr, 1, &gate));
  CHECK(synchronize(list, kMillisecond) == ZE_RESULT_NOT_READY);
  REQUIRE_OK(zeEventHostSignal(gate));
  REQUIRE_OK(synchronize(list, kForever));
  CHECK(*value == 2);
  CHECK(synchronize(f.list(), 0) == ZE_RESULT_ERROR_INVALID_ARGUMENT);

  const auto is_immediate =
      newer_call<ze_result_t(ze_command_list_handle_t, ze_bool_t*)>(f.library, "CommandList", 33);
  ze_bool_t immediate = false;
  REQUIRE_OK(is_immediate(list, &immediate));
  CHECK(immediate);
  REQUIRE_OK(is_immediate(f.list(), &immediate));
  CHECK_FALSE(immediate);
}
