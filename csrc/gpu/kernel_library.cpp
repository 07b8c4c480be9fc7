#include "gpu/kernel_library.hpp"

#include <string_view>
#include <utility>

#include "core/text.hpp"
#include "gpu/kernel_files.hpp"
#include "gpu/spirv_kernels.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {

namespace {
constexpr std::string_view names[] = {
#define KERNEL(name) #name,
#include "gpu/kernel_names.def"
#undef KERNEL
};

KernelDescription wgsl_kernel(std::string_view name, TemplateVariables variables) {
  // How exact division, square root and functions are, WGSL leaves to the device.
  variables.try_emplace("EXACT", std::int64_t{0});
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

KernelLibrary::Kept& KernelLibrary::entry(std::uint64_t key) {
  std::lock_guard lock(mutex_);
  return pipelines_.try_emplace(key, key).first->second;
}

const Pipeline* KernelLibrary::find(std::uint64_t key) {
  const Kept& kept = entry(key);
  const Pipeline* const ready = kept.ready.load(std::memory_order_acquire);
  if (ready != nullptr) shortcut(key).store(&kept, std::memory_order_release);
  return ready;
}

const Pipeline& KernelLibrary::compile(KernelId id, std::uint32_t variant,
                                       TemplateVariables variables) {
  const auto create = [&] {
    const std::string_view name = names[static_cast<std::size_t>(id)];
    return device_.create_pipeline(describe(name, std::move(variables)));
  };
  if (!keep_) {
    std::shared_ptr<Pipeline> pipeline = create();
    std::lock_guard lock(mutex_);
    std::shared_ptr<Pipeline>& latest = latest_[std::this_thread::get_id()];
    latest.swap(pipeline);
    return *latest;
  }
  Kept& kept = entry(key(id, variant));
  std::lock_guard alone(kept.compiling);
  if (!kept.pipeline) {
    kept.pipeline = create();
    kept.ready.store(kept.pipeline.get(), std::memory_order_release);
  }
  return *kept.pipeline;
}

}  // namespace tilewright::gpu
