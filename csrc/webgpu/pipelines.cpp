#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "webgpu/objects.hpp"
#include "webgpu/wgsl_constants.hpp"
#include "webgpu/wgsl_growth.hpp"
#include "webgpu/wgsl_interface.hpp"
#include "webgpu/wgsl_text.hpp"

// Kernels from WGSL. Every pipeline has an explicit layout: an automatic one leaves out what the
// code declares and does not use.
namespace tilewright::webgpu {

namespace {

/// What Dawn's compiler itself says, whose places lack the label.
std::string labelled(std::string_view message) {
  constexpr std::string_view start = "WGSL: ", end = "\n - While ";
  if (const auto at = message.find(start); at != std::string_view::npos) {
    message.remove_prefix(at + start.size());
  }
  message = message.substr(0, message.find(end));
  std::string all;
  bool begins_line = true;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const bool is_place = begins_line && message[i] == ':' && i + 1 < message.size() &&
                          message[i + 1] >= '0' && message[i + 1] <= '9';
    if (is_place) all += "wgsl";
    all += message[i];
    begins_line = message[i] == '\n';
  }
  return all;
}

/// What the compiler itself says, with the places in the sources.
std::string compiler_log(const Api& api, std::string_view message, const gpu::ExpandedText& code) {
  const std::string own = api.is_dawn() ? labelled(message) : std::string();
  if (api.is_dawn()) message = own;
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

std::shared_ptr<const Layout> Device::layout_for(const KernelInfo& info) {
  std::lock_guard lock(mutex_);
  LayoutKey key;
  for (const KernelBinding& binding : info.bindings) {
    key.entries.push_back({binding.writable, binding.least_bytes});
  }
  if (info.params_bytes <= immediate_bytes_) {
    key.immediate_bytes = info.params_bytes;
  } else {
    key.uniforms = uniforms_->layout();
  }
  auto layout = layouts_->get(key);
  try {
    throw_failure("a pipeline layout");
  } catch (...) {
    layouts_->drop_newest();
    throw;
  }
  return layout;
}

/// Throws KernelError with the compiler's log.
WGPUShaderModule Device::shader_module(const gpu::KernelDescription& kernel, bool in_uniforms) {
  // On the first line, so that the compiler's log has the lines of the text.
  const std::string code =
      prelude_ + (in_uniforms ? Uniforms::in_uniforms(kernel.code.text) : kernel.code.text);
  WGPUShaderSourceWGSL source{};
  source.chain.sType = WGPUSType_ShaderSourceWGSL;
  source.code = view(std::string_view(code));
  // The log names places by this label, or by the same word.
  WGPUShaderModuleDescriptor descriptor{};
  descriptor.nextInChain = &source.chain;
  descriptor.label = view(std::string_view("wgsl"));
  WGPUShaderModule module =
      kernel.trusted && !debug_ && !api_.is_dawn()
          ? api_.DeviceCreateShaderModuleTrusted(device_, &descriptor, WGPUShaderRuntimeChecks_None)
          : api_.DeviceCreateShaderModule(device_, &descriptor);
  if (const auto failure = failures_->take()) {
    if (module != nullptr) api_.ShaderModuleRelease(module);
    check_usable();
    if (failure->message.find("address space Uniform") != std::string::npos) {
      refuse_in_uniforms(kernel, interface_of(kernel, tokens_of(kernel.code.text)));
    }
    throw KernelError(text(kernel.name, " does not compile:\n",
                           compiler_log(api_, failure->message, kernel.code)));
  }
  return module;
}

/// The library itself does not check workgroup memory, nor a workgroup size from an override.
void Device::check_fits(const KernelInfo& info) const {
  const auto check = [&](std::uint64_t asked, std::string_view what, std::uint64_t most) {
    if (asked > most) {
      throw KernelError(text(info.name, " asks for ", asked, " ", what, ", but ", info_.name,
                             " has at most ", most));
    }
  };
  check(info.bindings.size(), "storage buffers",
        std::min<std::uint64_t>(raw_limits_.maxStorageBuffersPerShaderStage,
                                BindGroups::max_bindings));
  check(info.params_bytes, "bytes of parameters", std::max(immediate_bytes_, Uniforms::slot_bytes));
  check(info.workgroup_bytes, "bytes of workgroup memory",
        raw_limits_.maxComputeWorkgroupStorageSize);
  const auto& size = info.workgroup_size;
  check(size[0], "work-items in x", raw_limits_.maxComputeWorkgroupSizeX);
  check(size[1], "work-items in y", raw_limits_.maxComputeWorkgroupSizeY);
  check(size[2], "work-items in z", raw_limits_.maxComputeWorkgroupSizeZ);
  check(std::uint64_t{size[0]} * size[1] * size[2], "work-items in a workgroup",
        raw_limits_.maxComputeInvocationsPerWorkgroup);
}

std::unique_ptr<gpu::Pipeline> Device::create_pipeline(const gpu::KernelDescription& given) {
  {
    std::lock_guard lock(mutex_);
    check_usable();
  }
  // Without the lock, which other threads launch and free under: compiling takes long.
  const Failures::OfThisThread failures(*failures_);
  check_bytes(given.code);
  gpu::KernelDescription kernel = given;
  if (!given.constants_by_name.empty()) kernel.code = with_constants(given);
  const std::vector<Token> tokens = tokens_of(kernel.code.text);
  check_nesting(kernel.code, tokens);
  // The library's own kernels are as large as they have to be.
  if (!kernel.trusted) check_growth(kernel.code, tokens, Declarations(kernel.code, tokens));
  const Clock::time_point start = Clock::now();
  bool in_uniforms = immediate_bytes_ == 0;
  WGPUShaderModule module = shader_module(kernel, in_uniforms);
  const auto release = [&] { api_.ShaderModuleRelease(std::exchange(module, nullptr)); };
  WGPUComputePipeline pipeline = nullptr;
  try {
    WgslInterface read = interface_of(kernel, tokens);
    check_fits(read.info);
    if (read.info.params_bytes > immediate_bytes_) {
      refuse_in_uniforms(kernel, read);
      refuse_two_row_matrices(kernel, tokens);
      {
        const Turn turn(*this);
        if (!uniforms_) {
          auto made = std::make_unique<Uniforms>(api_, device_);
          throw_failure("a buffer of parameters");
          uniforms_ = std::move(made);
        }
      }
      if (!std::exchange(in_uniforms, true)) {
        release();
        module = shader_module(kernel, in_uniforms);
      }
    }
    const std::shared_ptr<const Layout> layout = layout_for(read.info);
    WGPUComputePipelineDescriptor descriptor{};
    descriptor.label = view(std::string_view(kernel.name));
    descriptor.layout = layout->pipeline();
    descriptor.compute.module = module;
    descriptor.compute.entryPoint = view(std::string_view(kernel.entry));
    pipeline = api_.DeviceCreateComputePipeline(device_, &descriptor);
    if (const auto failure = failures_->take()) {
      check_usable();
      throw KernelError(text(kernel.name, " gives no pipeline:\n",
                             compiler_log(api_, failure->message, kernel.code)));
    }
    release();
    read.info.compile_seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const bool has_uniforms = in_uniforms && read.info.params_bytes != 0;
    return std::make_unique<ComputePipeline>(*this, std::move(read.info), pipeline, layout,
                                             has_uniforms);
  } catch (...) {
    if (module != nullptr) release();
    if (pipeline != nullptr) api_.ComputePipelineRelease(pipeline);
    throw;
  }
}

}  // namespace tilewright::webgpu
