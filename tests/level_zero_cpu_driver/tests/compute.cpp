// Kernels of every form that the driver promises compute what they should.
#include <algorithm>
#include <cstring>

#include "fixture.hpp"

TEST_CASE("a vector is added on an immediate list") {
  Fixture f;
  constexpr uint32_t n = 100000;
  std::vector<float> a(n), b(n), c(n);
  for (uint32_t i = 0; i < n; ++i) a[i] = float(i), b[i] = 0.5f * float(i);
  auto* const da = f.device_memory<float>(n);
  auto* const db = f.device_memory<float>(n);
  auto* const dc = f.device_memory<float>(n);
  const auto list = f.immediate();
  const auto kernel = f.kernel("add", 64);
  REQUIRE_OK(zeCommandListAppendMemoryCopy(list, da, a.data(), n * 4, nullptr, 0, nullptr));
  REQUIRE_OK(zeCommandListAppendMemoryCopy(list, db, b.data(), n * 4, nullptr, 0, nullptr));
  REQUIRE_OK(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
  REQUIRE_OK(set_argument(kernel, 0, da));
  REQUIRE_OK(set_argument(kernel, 1, db));
  REQUIRE_OK(set_argument(kernel, 2, dc));
  REQUIRE_OK(set_argument(kernel, 3, n));
  REQUIRE_OK(f.launch(list, kernel, (n + 63) / 64));
  REQUIRE_OK(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
  REQUIRE_OK(zeCommandListAppendMemoryCopy(list, c.data(), dc, n * 4, nullptr, 0, nullptr));
  REQUIRE_OK(f.finish(list));
  for (uint32_t i = 0; i < n; ++i) REQUIRE(c[i] == a[i] + b[i]);
}

TEST_CASE("a recorded list runs on a queue, twice, and a fence tells when") {
  Fixture f;
  auto* const value = f.device_memory<int>(1);
  const auto list = f.list();
  const auto queue = f.queue();
  const int start = 20;
  REQUIRE_OK(zeCommandListAppendMemoryFill(list, value, &start, 4, 4, nullptr, 0, nullptr));
  REQUIRE_OK(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
  const auto kernel = f.kernel("plus_one");
  REQUIRE_OK(set_argument(kernel, 0, value));
  REQUIRE_OK(f.launch(list, kernel));
  REQUIRE_OK(zeCommandListClose(list));
  const ze_fence_desc_t desc{ZE_STRUCTURE_TYPE_FENCE_DESC};
  ze_fence_handle_t fence = nullptr;
  REQUIRE_OK(zeFenceCreate(queue, &desc, &fence));
  for (int round = 0; round < 2; ++round) {
    auto handle = list;
    REQUIRE_OK(zeCommandQueueExecuteCommandLists(queue, 1, &handle, fence));
    REQUIRE_OK(zeFenceHostSynchronize(fence, kForever));
    CHECK_OK(zeFenceQueryStatus(fence));
    CHECK(*value == 21);
    REQUIRE_OK(zeFenceReset(fence));
    CHECK(zeFenceQueryStatus(fence) == ZE_RESULT_NOT_READY);
  }
  CHECK_OK(zeCommandQueueSynchronize(queue, kForever));
  REQUIRE_OK(zeCommandListReset(list));
}

TEST_CASE("kernels use local memory, structs by value, halves and sub-groups") {
  Fixture f;
  const auto list = f.immediate();

  SUBCASE("local memory that the kernel declares") {
    auto* const in = f.device_memory<float>(640);
    auto* const out = f.device_memory<float>(10);
    for (int i = 0; i < 640; ++i) in[i] = float(i);
    const auto kernel = f.kernel("sum_of_64", 64);
    REQUIRE_OK(set_argument(kernel, 0, in));
    REQUIRE_OK(set_argument(kernel, 1, out));
    REQUIRE_OK(f.launch(list, kernel, 10));
    REQUIRE_OK(f.finish(list));
    for (int g = 0; g < 10; ++g) CHECK(out[g] == 64 * 64 * g + 2016);
  }
  SUBCASE("local memory as an argument") {
    auto* const in = f.device_memory<float>(32);
    auto* const out = f.device_memory<float>(32);
    for (int i = 0; i < 32; ++i) in[i] = float(i);
    const auto kernel = f.kernel("reverse_in_local", 32);
    REQUIRE_OK(set_argument(kernel, 0, in));
    REQUIRE_OK(set_argument(kernel, 1, out));
    REQUIRE_OK(zeKernelSetArgumentValue(kernel, 2, 32 * 4, nullptr));
    REQUIRE_OK(set_argument(kernel, 3, uint32_t(32)));
    REQUIRE_OK(f.launch(list, kernel));
    REQUIRE_OK(f.finish(list));
    for (int i = 0; i < 32; ++i) CHECK(out[i] == 31 - i);
  }
  SUBCASE("a struct by value") {
    struct {
      uint32_t n;
      float scale;
      uint64_t offset;
    } const parameters{3, 2.0f, 1000};
    auto* const out = f.device_memory<float>(4);
    std::fill_n(out, 4, -1.0f);
    const auto kernel = f.kernel("by_value", 4);
    REQUIRE_OK(set_argument(kernel, 0, out));
    REQUIRE_OK(set_argument(kernel, 1, parameters));
    REQUIRE_OK(f.launch(list, kernel));
    REQUIRE_OK(f.finish(list));
    CHECK(std::vector<float>(out, out + 4) == std::vector<float>{1000, 1002, 1004, -1});
  }
  SUBCASE("halves") {
    auto* const in = f.device_memory<uint16_t>(16);
    auto* const out = f.device_memory<uint16_t>(16);
    std::fill_n(in, 16, uint16_t(0x4248));
    const auto kernel = f.kernel("halves", 16);
    REQUIRE_OK(set_argument(kernel, 0, in));
    REQUIRE_OK(set_argument(kernel, 1, out));
    REQUIRE_OK(f.launch(list, kernel));
    REQUIRE_OK(f.finish(list));
    CHECK(std::count(out, out + 16, 0x4648) == 16);
  }
  SUBCASE("sub-groups of 16") {
    auto* const in = f.device_memory<uint32_t>(64);
    auto* const out = f.device_memory<float>(64);
    for (uint32_t i = 0; i < 64; ++i) in[i] = i % 10;
    const auto kernel = f.kernel("sub_groups", 32);
    REQUIRE_OK(set_argument(kernel, 0, in));
    REQUIRE_OK(set_argument(kernel, 1, out));
    REQUIRE_OK(f.launch(list, kernel, 2));
    REQUIRE_OK(f.finish(list));
    for (uint32_t i = 0; i < 64; ++i) {
      const uint32_t first = i / 16 * 16;
      float expected = 1000.0f * float(in[first + 3]) + 100000.0f * float(in[i ^ 1]);
      for (uint32_t k = 0; k < 16; ++k) expected += float(in[first + k]);
      CHECK(out[i] == expected);
    }
  }
  SUBCASE("group counts from memory") {
    auto* const value = f.device_memory<int>(1);
    auto* const count = f.device_memory<ze_group_count_t>(1);
    *value = 1;
    *count = {1, 1, 1};
    const auto kernel = f.kernel("plus_one");
    REQUIRE_OK(set_argument(kernel, 0, value));
    REQUIRE_OK(zeCommandListAppendLaunchKernelIndirect(list, kernel, count, nullptr, 0, nullptr));
    REQUIRE_OK(f.finish(list));
    CHECK(*value == 2);
  }
}

TEST_CASE("specialization constants change a module") {
  Fixture f;
  const auto list = f.immediate();
  auto* const out = f.device_memory<int>(2);
  const auto spirv = kernels_spirv();
  auto desc = Fixture::module_desc(spirv);
  const uint32_t id = 8;
  const int value = 60;
  const void* const values[] = {&value};
  ze_module_constants_t constants{1, &id, const_cast<const void**>(values)};
  desc.pConstants = &constants;
  ze_module_handle_t module = nullptr;
  REQUIRE_OK(zeModuleCreate(f.context, f.device, &desc, &module, nullptr));
  const ze_kernel_handle_t kernel = f.kernel_of(module, "constants");
  REQUIRE_OK(set_argument(kernel, 0, out));
  REQUIRE_OK(f.launch(list, kernel));
  REQUIRE_OK(f.finish(list));
  CHECK(out[0] == 5);
  CHECK(out[1] == 60);

  const uint32_t unknown = 99;
  constants.pConstantIds = &unknown;
  CHECK(zeModuleCreate(f.context, f.device, &desc, &module, nullptr) ==
        ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("a native binary makes the same module, and only the one that it is for") {
  Fixture f;
  const std::vector<uint8_t> binary = f.native_binary();
  auto desc = Fixture::module_desc(binary);
  desc.format = ZE_MODULE_FORMAT_NATIVE;
  ze_module_handle_t module = nullptr;
  REQUIRE_OK(zeModuleCreate(f.context, f.device, &desc, &module, nullptr));
  const ze_kernel_handle_t kernel = f.kernel_of(module, "plus_one");
  auto* const value = f.device_memory<int>(1);
  *value = 4;
  const auto list = f.immediate();
  REQUIRE_OK(set_argument(kernel, 0, value));
  REQUIRE_OK(f.launch(list, kernel));
  REQUIRE_OK(f.finish(list));
  CHECK(*value == 5);

  const auto refused = [&](const std::vector<uint8_t>& bytes) {
    desc.inputSize = bytes.size();
    desc.pInputModule = bytes.data();
    return zeModuleCreate(f.context, f.device, &desc, &module, nullptr);
  };
  auto other = binary;
  other[0] ^= 1;  // another writer
  CHECK(refused(other) == ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);
  other = binary;
  other[8] ^= 1;  // another version
  CHECK(refused(other) == ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);
  other = binary;
  other.back() ^= 1;
  CHECK(refused(other) == ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);
  other.resize(other.size() / 2);
  CHECK(refused(other) == ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);
  CHECK(refused({1, 2, 3}) == ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);
}

TEST_CASE("a module that does not build says why, and the process lives on") {
  Fixture f;
  const auto build = [&](const std::vector<uint8_t>& bytes, const char* flags, std::string& said) {
    auto desc = Fixture::module_desc(bytes);
    desc.pBuildFlags = flags;
    ze_module_handle_t module = nullptr;
    ze_module_build_log_handle_t log = nullptr;
    const ze_result_t result = zeModuleCreate(f.context, f.device, &desc, &module, &log);
    size_t size = 0;
    REQUIRE_OK(zeModuleBuildLogGetString(log, &size, nullptr));
    said.resize(size);
    REQUIRE_OK(zeModuleBuildLogGetString(log, &size, said.data()));
    REQUIRE_OK(zeModuleBuildLogDestroy(log));
    return result;
  };
  const auto good = kernels_spirv();
  std::string said;
  auto bad = good;
  bad.resize(bad.size() / 2 / 4 * 4);
  CHECK(build(bad, "", said) == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
  CHECK(said.find("not valid") != std::string::npos);
  bad = good;
  for (size_t i = 400; i < bad.size(); i += 97) bad[i] ^= 0x55;
  CHECK(build(bad, "", said) == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
  CHECK(build({1, 2, 3}, "", said) == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
  CHECK(build(good, "-no-such-flag", said) == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
  CHECK(said.find("-no-such-flag") != std::string::npos);
  CHECK_OK(build(good, "-ze-opt-greater-than-4GB-buffer-required -cl-mad-enable", said));
  CHECK(!said.empty());
}

TEST_CASE("kernels tell their names and properties") {
  Fixture f;
  uint32_t count = 0;
  REQUIRE_OK(zeModuleGetKernelNames(f.module(), &count, nullptr));
  std::vector<const char*> names(count);
  REQUIRE_OK(zeModuleGetKernelNames(f.module(), &count, names.data()));
  CHECK(std::any_of(names.begin(), names.end(),
                    [](const char* name) { return std::string(name) == "sub_groups"; }));

  ze_kernel_properties_t properties{ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES};
  const auto sub_groups = f.kernel("sub_groups", 32);
  REQUIRE_OK(zeKernelGetProperties(sub_groups, &properties));
  CHECK(properties.numKernelArgs == 2);
  CHECK(properties.requiredGroupSizeX == 32);
  CHECK(properties.requiredGroupSizeY == 1);
  CHECK(properties.requiredSubgroupSize == 16);
  CHECK(properties.maxSubgroupSize == 16);
  const auto sum = f.kernel("sum_of_64", 64);
  REQUIRE_OK(zeKernelGetProperties(sum, &properties));
  CHECK(properties.localMemSize == 256);
  CHECK(properties.requiredGroupSizeX == 0);

  size_t size = 0;
  REQUIRE_OK(zeKernelGetName(sum, &size, nullptr));
  std::string name(size, '\0');
  REQUIRE_OK(zeKernelGetName(sum, &size, name.data()));
  CHECK(std::strcmp(name.c_str(), "sum_of_64") == 0);

  uint32_t x = 0, y = 0, z = 0;
  REQUIRE_OK(zeKernelSuggestGroupSize(sum, 96, 5, 1, &x, &y, &z));
  CHECK(96 % x == 0);
  CHECK(x * y * z <= 1024);
  REQUIRE_OK(zeKernelSuggestGroupSize(sub_groups, 96, 5, 1, &x, &y, &z));
  CHECK(x == 32);
}

TEST_CASE("fills and copies of regions") {
  Fixture f;
  const auto list = f.immediate();
  auto* const plane = f.device_memory<uint8_t>(64);
  const uint16_t pattern = 0x0201;
  REQUIRE_OK(zeCommandListAppendMemoryFill(list, plane, &pattern, 2, 64, nullptr, 0, nullptr));
  REQUIRE_OK(f.finish(list));
  CHECK(plane[62] == 1);
  CHECK(plane[63] == 2);

  std::vector<uint8_t> block{10, 11, 12, 13, 14, 15};
  const ze_copy_region_t to{2, 1, 0, 3, 2, 1};
  const ze_copy_region_t from{0, 0, 0, 3, 2, 1};
  REQUIRE_OK(zeCommandListAppendMemoryCopyRegion(list, plane, &to, 8, 0, block.data(), &from, 3, 0,
                                                 nullptr, 0, nullptr));
  REQUIRE_OK(f.finish(list));
  CHECK(std::vector<uint8_t>(plane + 9, plane + 14) == std::vector<uint8_t>{2, 10, 11, 12, 2});
  CHECK(std::vector<uint8_t>(plane + 17, plane + 22) == std::vector<uint8_t>{2, 13, 14, 15, 2});
}

TEST_CASE("timestamps are real") {
  Fixture f;
  const auto list = f.immediate();
  auto* const out = f.device_memory<uint64_t>(1);
  const auto kernel = f.kernel("count_to");
  const auto measured = [&](uint64_t n) {
    REQUIRE_OK(set_argument(kernel, 0, out));
    REQUIRE_OK(set_argument(kernel, 1, n));
    const auto event = f.event();
    const ze_group_count_t one{1, 1, 1};
    uint64_t host = 0, before = 0, after = 0;
    REQUIRE_OK(zeDeviceGetGlobalTimestamps(f.device, &host, &before));
    REQUIRE_OK(zeCommandListAppendLaunchKernel(list, kernel, &one, event, 0, nullptr));
    REQUIRE_OK(zeEventHostSynchronize(event, kForever));
    REQUIRE_OK(zeDeviceGetGlobalTimestamps(f.device, &host, &after));
    ze_kernel_timestamp_result_t result{};
    REQUIRE_OK(zeEventQueryKernelTimestamp(event, &result));
    CHECK(before <= result.global.kernelStart);
    CHECK(result.global.kernelStart < result.global.kernelEnd);
    CHECK(result.global.kernelEnd <= after);
    return result.context.kernelEnd - result.context.kernelStart;
  };
  measured(1);
  CHECK(measured(50000000) > 10 * measured(10));
}

namespace {

/// What DPAS makes of matrices: A of 8 rows of 32 bytes, of which each of `lanes` work-items has a
/// part of every row; B by columns of 32 bytes.
template <typename Element, typename Sum>
std::vector<Sum> multiplied(Fixture& f, const char* name, uint32_t lanes,
                            const std::vector<Element>& a, const std::vector<Element>& b) {
  const size_t part = 32 / lanes;
  auto* const rows = f.device_memory<uint8_t>(8 * 32);
  auto* const columns = f.device_memory<uint8_t>(lanes * 32);
  auto* const sums = f.device_memory<Sum>(lanes * 8);
  const auto* const bytes = reinterpret_cast<const uint8_t*>(a.data());
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    for (size_t row = 0; row < 8; ++row) {
      std::memcpy(rows + (lane * 8 + row) * part, bytes + row * 32 + lane * part, part);
    }
  }
  std::memcpy(columns, b.data(), lanes * 32);
  std::fill_n(sums, lanes * 8, Sum(1));
  const auto list = f.immediate();
  const auto kernel = f.kernel(name, lanes);
  REQUIRE_OK(set_argument(kernel, 0, rows));
  REQUIRE_OK(set_argument(kernel, 1, columns));
  REQUIRE_OK(set_argument(kernel, 2, sums));
  REQUIRE_OK(f.launch(list, kernel));
  REQUIRE_OK(f.finish(list));
  return {sums, sums + lanes * 8};
}

template <typename Element, typename Sum>
void check_matrix_mad(const char* name, uint32_t lanes, int (*value)(int), Element (*stored)(int)) {
  Fixture f;
  const int depth = int(32 / sizeof(Element));
  std::vector<Element> a, b;
  for (int i = 0; i < 8 * depth; ++i) a.push_back(stored(value(i)));
  for (int i = 0; i < int(lanes) * depth; ++i) b.push_back(stored(value(3 * i + 1)));
  const auto sums = multiplied<Element, Sum>(f, name, lanes, a, b);
  for (int column = 0; column < int(lanes); ++column) {
    for (int row = 0; row < 8; ++row) {
      Sum expected = 1;
      for (int k = 0; k < depth; ++k) {
        expected += Sum(value(row * depth + k) * value(3 * (column * depth + k) + 1));
      }
      CHECK(sums[size_t(column * 8 + row)] == expected);
    }
  }
}

/// Whole numbers below 16 as halves.
uint16_t half_of(int value) {
  if (value == 0) return 0;
  int power = 0;
  while (value >> (power + 1) != 0) ++power;
  return uint16_t(((15 + power) << 10) | ((value << (10 - power)) & 0x3ff));
}

}  // namespace

TEST_CASE("DPAS multiplies float16 and bytes, of 8 and of 16 work-items") {
  const auto few = [](int i) { return i % 13; };
  SUBCASE("halves of 16") { check_matrix_mad<uint16_t, float>("halves_of_16", 16, few, half_of); }
  SUBCASE("halves of 8") { check_matrix_mad<uint16_t, float>("halves_of_8", 8, few, half_of); }
  SUBCASE("bytes with a sign") {
    check_matrix_mad<int8_t, int>(
        "bytes_of_16", 16, [](int i) { return i * 7 % 256 - 128; },
        [](int value) { return int8_t(value); });
  }
  SUBCASE("bytes without") {
    check_matrix_mad<uint8_t, int>(
        "bytes_of_8", 8, [](int i) { return i * 11 % 256; },
        [](int value) { return uint8_t(value); });
  }
}
