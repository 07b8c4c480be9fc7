#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/log.hpp"
#include "core/text.hpp"
#include "level_zero/objects.hpp"
#include "level_zero/results.hpp"
#include "level_zero/spirv_constants.hpp"
#include "tilewright/error.hpp"

// Kernels from SPIR-V, or from what the driver made of it in an earlier process.
namespace tilewright::level_zero {

namespace {

void check_fits(const SpirvInterface& read, const Adapter& adapter) {
  const auto check = [&](std::uint64_t asked, std::string_view what, std::uint64_t most) {
    if (asked > most) {
      throw KernelError(text(read.info.name, " asks for ", asked, " ", what, ", but ",
                             adapter.info.name, " has at most ", most));
    }
  };
  const auto& compute = adapter.compute;
  const auto& size = read.info.workgroup_size;
  check(read.info.workgroup_bytes, "bytes of workgroup memory", compute.maxSharedLocalMemory);
  check(size[0], "work-items in x", compute.maxGroupSizeX);
  check(size[1], "work-items in y", compute.maxGroupSizeY);
  check(size[2], "work-items in z", compute.maxGroupSizeZ);
  check(std::uint64_t{size[0]} * size[1] * size[2], "work-items in a workgroup",
        compute.maxTotalGroupSize);
  std::uint64_t bytes = 0;
  for (const SpirvArgument& argument : read.arguments) {
    bytes += argument.is_buffer ? sizeof(void*) : argument.bytes;
  }
  check(bytes, "bytes of arguments", adapter.module.maxArgumentsSize);
}

void check_language(const gpu::KernelDescription& kernel) {
  if (!is_spirv(kernel.code.text)) {
    throw KernelError(text(kernel.name,
                           " is no SPIR-V module, which is what level-zero takes; compile it to "
                           "SPIR-V (OpenCL C: clang -target spirv64), or run its WGSL on webgpu"));
  }
  if (!kernel.trusted) {
    throw Unsupported(
        text(kernel.name,
             ": level-zero cannot keep SPIR-V within its buffers, nor end its loops; pass "
             "trusted=True for code that does both by itself, or use WGSL on webgpu"));
  }
}

/// All that a build log says, and the end of it.
std::string read_log(ze_module_build_log_handle_t log) {
  std::size_t bytes = 0;
  std::string words;
  if (api().ModuleBuildLogGetString(log, &bytes, nullptr) == ZE_RESULT_SUCCESS && bytes > 0) {
    words.resize(bytes);
    if (api().ModuleBuildLogGetString(log, &bytes, words.data()) != ZE_RESULT_SUCCESS) words = "";
    words.resize(std::min(words.size(), words.find('\0')));
  }
  api().ModuleBuildLogDestroy(log);
  return words;
}

/// What tells a module from others that the same driver builds for the same device.
std::string build_key(const gpu::KernelDescription& kernel, std::string_view flags) {
  std::string key = text(fingerprint(kernel.code.text), " ", flags);
  for (const gpu::SpecializationConstant& constant : kernel.constants) {
    key += text(" ", constant.id, "=", constant.value);
  }
  return key;
}

}  // namespace

ze_module_handle_t Device::build(const gpu::KernelDescription& kernel, ze_module_format_t format,
                                 std::string_view code, std::string* build_log,
                                 ze_result_t& result) {
  std::vector<std::uint32_t> ids;
  std::vector<const void*> values;
  for (const gpu::SpecializationConstant& constant : kernel.constants) {
    ids.push_back(constant.id);
    values.push_back(&constant.value);
  }
  ze_module_constants_t constants;
  constants.numConstants = static_cast<std::uint32_t>(ids.size());
  constants.pConstantIds = ids.data();
  constants.pConstantValues = values.data();
  ze_module_desc_t descriptor;
  descriptor.format = format;
  descriptor.inputSize = code.size();
  descriptor.pInputModule = reinterpret_cast<const std::uint8_t*>(code.data());
  descriptor.pBuildFlags = build_flags_.c_str();
  if (!ids.empty()) descriptor.pConstants = &constants;
  ze_module_handle_t module = nullptr;
  ze_module_build_log_handle_t log = nullptr;
  result = api().ModuleCreate(context_, adapter_.handle, &descriptor, &module, &log);
  if (log != nullptr) {
    const std::string words = read_log(log);
    if (build_log != nullptr) *build_log = words;
  }
  return result == ZE_RESULT_SUCCESS ? module : nullptr;
}

/// From the disk, where a binary is kept there that the driver takes; else from the SPIR-V. Throws
/// KernelError with the compiler's log; `words` is what it says otherwise.
ze_module_handle_t Device::module_of(const gpu::KernelDescription& kernel, std::string& words) {
  ze_result_t result = ZE_RESULT_SUCCESS;
  const std::string key = binaries_ ? build_key(kernel, build_flags_) : "";
  if (binaries_) {
    const std::string binary = binaries_->read(key);
    if (!binary.empty()) {
      if (auto* module = build(kernel, ZE_MODULE_FORMAT_NATIVE, binary, nullptr, result)) {
        return module;
      }
    }
  }
  auto* module = build(kernel, ZE_MODULE_FORMAT_IL_SPIRV, kernel.code.text, &words, result);
  if (result == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE ||
      result == ZE_RESULT_ERROR_MODULE_LINK_FAILURE) {
    throw KernelError(text(kernel.name, " does not compile:\n",
                           words.empty() ? "the driver's compiler gave no reason" : words));
  }
  check(result, "zeModuleCreate");
  if (!words.empty()) log(LogLevel::debug, text("level-zero: ", kernel.name, ": ", words));
  if (!binaries_) return module;
  std::size_t bytes = 0;
  std::string binary;
  if (api().ModuleGetNativeBinary(module, &bytes, nullptr) == ZE_RESULT_SUCCESS) {
    binary.resize(bytes);
    auto* data = reinterpret_cast<std::uint8_t*>(binary.data());
    if (api().ModuleGetNativeBinary(module, &bytes, data) == ZE_RESULT_SUCCESS) {
      binaries_->write(key, binary);
    }
  }
  return module;
}

std::unique_ptr<gpu::Pipeline> Device::create_pipeline(const gpu::KernelDescription& given) {
  {
    std::lock_guard lock(mutex_);
    check_usable();
  }
  check_language(given);
  gpu::KernelDescription kernel = given;
  if (!given.constants_by_name.empty()) kernel.code.text = with_constants(given);
  SpirvInterface read = interface_of(kernel);
  check_fits(read, adapter_);
  const auto size = read.info.workgroup_size;
  const Clock::time_point start = Clock::now();
  ze_module_handle_t module = module_of(kernel, read.info.log);
  ze_kernel_handle_t handle = nullptr;
  try {
    ze_kernel_desc_t descriptor;
    descriptor.pKernelName = kernel.entry.c_str();
    const ze_result_t result = api().KernelCreate(module, &descriptor, &handle);
    if (result == ZE_RESULT_ERROR_INVALID_KERNEL_NAME) {
      throw KernelError(text(kernel.name, ": the driver's compiler left out ", kernel.entry));
    }
    check(result, "zeKernelCreate");
    check(api().KernelSetGroupSize(handle, size[0], size[1], size[2]), "zeKernelSetGroupSize");
    read.info.compile_seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return std::make_unique<ComputePipeline>(*this, std::move(read), module, handle);
  } catch (...) {
    if (handle != nullptr) api().KernelDestroy(handle);
    api().ModuleDestroy(module);
    throw;
  }
}

}  // namespace tilewright::level_zero
