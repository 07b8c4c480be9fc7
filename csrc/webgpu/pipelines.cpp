#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "webgpu/objects.hpp"
#include "webgpu/wgsl_growth.hpp"
#include "webgpu/wgsl_interface.hpp"
#include "webgpu/wgsl_text.hpp"

// Kernels from WGSL. Every pipeline has an explicit layout: an automatic one leaves out what the
// code declares and does not use.
namespace tilewright::webgpu {

namespace {

/// What the compiler itself says, with the places in the sources.
std::string compiler_log(std::string_view message, const gpu::ExpandedText& code) {
  constexpr std::string_view blank = " \n";
  const std::size_t start = message.find("Shader ");
  if (start != std::string_view::npos) message.remove_prefix(start);
  const std::size_t end = message.find_last_not_of(blank);
  if (end != std::string_view::npos) message = message.substr(0, end + 1);
  return gpu::locate_in_sources(message, code);
}

/// The compiler ends the process over matrices of two rows, anywhere, beside a uniform buffer.
void refuse_two_row_matrices(const gpu::KernelDescription& kernel,
                             const std::vector<Token>& tokens) {
  for (const Token& token : tokens) {
    if (token.text.size() >= 6 && token.text.substr(0, 3) == "mat" &&
        token.text.substr(4, 2) == "x2") {
      refuse(
          kernel.code, token.line,
          text(token.text, " and var<immediate> cannot be together on this device; use vectors"));
    }
  }
}

void refuse_in_uniforms(const gpu::KernelDescription& kernel, const WgslInterface& read) {
  if (!read.uniform_obstacle.empty()) {
    refuse(kernel.code, read.params_line, read.uniform_obstacle);
  }
}

}  // namespace

Device::Layout Device::layout_for(const KernelInfo& info) {
  std::lock_guard lock(mutex_);
  LayoutKey key{{}, info.params_bytes};
  for (const KernelBinding& binding : info.bindings) {
    key.entries.push_back({binding.writable, binding.least_bytes});
  }
  if (const auto found = layouts_.find(key); found != layouts_.end()) return found->second;
  std::vector<WGPUBindGroupLayoutEntry> entries(info.bindings.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i].binding = static_cast<std::uint32_t>(i);
    entries[i].visibility = WGPUShaderStage_Compute;
    entries[i].buffer.type = info.bindings[i].writable ? WGPUBufferBindingType_Storage
                                                       : WGPUBufferBindingType_ReadOnlyStorage;
    entries[i].buffer.minBindingSize = info.bindings[i].least_bytes;
  }
  Layout layout;
  WGPUBindGroupLayoutDescriptor group{};
  group.entryCount = entries.size();
  group.entries = entries.data();
  layout.group = api().DeviceCreateBindGroupLayout(device_, &group);
  WGPUPipelineLayoutDescriptor pipeline{};
  std::array<WGPUBindGroupLayout, 2> groups{layout.group, nullptr};
  pipeline.bindGroupLayoutCount = 1;
  pipeline.bindGroupLayouts = groups.data();
  if (info.params_bytes <= immediate_bytes_) {
    pipeline.immediateSize = static_cast<std::uint32_t>(info.params_bytes);
  } else {
    groups[pipeline.bindGroupLayoutCount++] = uniforms_->layout();
  }
  layout.pipeline = api().DeviceCreatePipelineLayout(device_, &pipeline);
  throw_failure("a pipeline layout");
  return layouts_.emplace(std::move(key), layout).first->second;
}

/// Throws KernelError with the compiler's log.
WGPUShaderModule Device::shader_module(const gpu::KernelDescription& kernel, bool in_uniforms) {
  const std::string code = in_uniforms ? Uniforms::in_uniforms(kernel.code.text) : kernel.code.text;
  WGPUShaderSourceWGSL source{};
  source.chain.sType = WGPUSType_ShaderSourceWGSL;
  source.code = view(std::string_view(code));
  // The log names places by this label, or by the same word.
  WGPUShaderModuleDescriptor descriptor{};
  descriptor.nextInChain = &source.chain;
  descriptor.label = view(std::string_view("wgsl"));
  WGPUShaderModule module = kernel.trusted && !debug_
                                ? api().DeviceCreateShaderModuleTrusted(
                                      device_, &descriptor, WGPUShaderRuntimeChecks_None)
                                : api().DeviceCreateShaderModule(device_, &descriptor);
  if (const auto failure = failures_->take()) {
    if (module != nullptr) api().ShaderModuleRelease(module);
    check_usable();
    if (failure->message.find("address space Uniform") != std::string::npos) {
      refuse_in_uniforms(kernel, interface_of(kernel, tokens_of(kernel.code.text)));
    }
    throw KernelError(
        text(kernel.name, " does not compile:\n", compiler_log(failure->message, kernel.code)));
  }
  return module;
}

/// The library itself does not check workgroup memory, nor a workgroup size from an override.
void Device::check_fits(const KernelInfo& info, std::uint64_t workgroup_bytes) const {
  const auto check = [&](std::uint64_t asked, std::string_view what, std::uint64_t most) {
    if (asked > most) {
      throw KernelError(text(info.name, " asks for ", asked, " ", what, ", but ", info_.name,
                             " has at most ", most));
    }
  };
  check(
      info.bindings.size(), "storage buffers",
      std::min<std::uint64_t>(raw_limits_.maxStorageBuffersPerShaderStage, BindGroups::max_ranges));
  check(info.params_bytes, "bytes of parameters", std::max(immediate_bytes_, Uniforms::slot_bytes));
  check(workgroup_bytes, "bytes of workgroup memory", raw_limits_.maxComputeWorkgroupStorageSize);
  const auto& size = info.workgroup_size;
  check(size[0], "work-items in x", raw_limits_.maxComputeWorkgroupSizeX);
  check(size[1], "work-items in y", raw_limits_.maxComputeWorkgroupSizeY);
  check(size[2], "work-items in z", raw_limits_.maxComputeWorkgroupSizeZ);
  check(std::uint64_t{size[0]} * size[1] * size[2], "work-items in a workgroup",
        raw_limits_.maxComputeInvocationsPerWorkgroup);
}

std::unique_ptr<gpu::Pipeline> Device::create_pipeline(const gpu::KernelDescription& kernel) {
  {
    std::lock_guard lock(mutex_);
    check_usable();
  }
  // Without the lock, which other threads launch and free under: compiling takes long.
  const Failures::OfThisThread failures(*failures_);
  check_bytes(kernel.code);
  const std::vector<Token> tokens = tokens_of(kernel.code.text);
  check_nesting(kernel.code, tokens);
  // The library's own kernels are as large as they have to be.
  if (!kernel.trusted) check_growth(kernel.code, tokens, Declarations(kernel.code, tokens));
  bool in_uniforms = immediate_bytes_ == 0;
  WGPUShaderModule module = shader_module(kernel, in_uniforms);
  const auto release = [&] { api().ShaderModuleRelease(std::exchange(module, nullptr)); };
  WGPUComputePipeline pipeline = nullptr;
  try {
    WgslInterface read = interface_of(kernel, tokens);
    check_fits(read.info, read.workgroup_bytes);
    if (read.info.params_bytes > immediate_bytes_) {
      refuse_in_uniforms(kernel, read);
      refuse_two_row_matrices(kernel, tokens);
      {
        std::lock_guard lock(mutex_);
        if (!uniforms_) uniforms_ = std::make_unique<Uniforms>(device_);
        throw_failure("a buffer of parameters");
      }
      if (!std::exchange(in_uniforms, true)) {
        release();
        module = shader_module(kernel, in_uniforms);
      }
    }
    const Layout layout = layout_for(read.info);
    WGPUComputePipelineDescriptor descriptor{};
    descriptor.label = view(std::string_view(kernel.name));
    descriptor.layout = layout.pipeline;
    descriptor.compute.module = module;
    descriptor.compute.entryPoint = view(std::string_view(kernel.entry));
    pipeline = api().DeviceCreateComputePipeline(device_, &descriptor);
    if (const auto failure = failures_->take()) {
      check_usable();
      throw KernelError(
          text(kernel.name, " gives no pipeline:\n", compiler_log(failure->message, kernel.code)));
    }
    release();
    const bool has_uniforms = in_uniforms && read.info.params_bytes != 0;
    return std::make_unique<ComputePipeline>(*this, std::move(read.info), pipeline, layout.group,
                                             has_uniforms);
  } catch (...) {
    if (module != nullptr) release();
    if (pipeline != nullptr) api().ComputePipelineRelease(pipeline);
    throw;
  }
}

}  // namespace tilewright::webgpu
