#include "gpu/kernel_library.hpp"

#include <string_view>
#include <utility>

#include "core/text.hpp"
#include "gpu/kernel_files.hpp"
#include "gpu/spirv_kernels.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {

namespace {
#define TILEWRIGHT_KERNEL_NAME(name) #name,
constexpr std::string_view names[] = {TILEWRIGHT_KERNELS(TILEWRIGHT_KERNEL_NAME)};
#undef TILEWRIGHT_KERNEL_NAME

KernelDescription wgsl_kernel(std::string_view name, const TemplateVariables& variables) {
  KernelDescription kernel;
  kernel.name = name;
  kernel.code = expand_template(text(name, ".wgsl"), variables,
                                [](std::string_view file) { return kernel_file(file); });
  kernel.entry = "main";
  kernel.trusted = true;
  return kernel;
}

}  // namespace

KernelDescription KernelLibrary::describe(std::string_view name, TemplateVariables variables) {
  KernelDescription kernel;
  if (device_.language() == KernelLanguage::spirv) {
    variables.try_emplace("SUBGROUP", std::int64_t{device_.limits().block_subgroup});
    kernel = spirv_kernel(name, variables);
  } else {
    kernel = wgsl_kernel(name, variables);
  }
  // Profiles tell the functions of one kernel file apart.
  const auto function = variables.find("OP");
  if (function != variables.end())
    kernel.name += text("_", std::get<std::string>(function->second));
  return kernel;
}

const Pipeline* KernelLibrary::find(std::uint64_t key) {
  std::lock_guard lock(mutex_);
  const auto found = pipelines_.find(key);
  if (found == pipelines_.end()) return nullptr;
  shortcut(key).store(&found->second, std::memory_order_release);
  return found->second.pipeline.get();
}

const Pipeline& KernelLibrary::compile(KernelId id, std::uint32_t variant,
                                       TemplateVariables variables) {
  std::lock_guard lock(mutex_);
  const std::uint64_t wanted = key(id, variant);
  if (const auto found = pipelines_.find(wanted); found != pipelines_.end()) {
    return *found->second.pipeline;
  }
  const std::string_view name = names[static_cast<std::size_t>(id)];
  const KernelDescription kernel = describe(name, std::move(variables));
  if (!keep_) {
    return *(latest_[std::this_thread::get_id()] = device_.create_pipeline(kernel));
  }
  return *pipelines_.emplace(wanted, Kept{wanted, device_.create_pipeline(kernel)})
              .first->second.pipeline;
}

}  // namespace tilewright::gpu
