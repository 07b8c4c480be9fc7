#include "gpu/kernel_library.hpp"

#include <regex>
#include <string_view>

#include "core/text.hpp"
#include "gpu/kernel_files.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {

namespace {
#define TILEWRIGHT_KERNEL_NAME(name) #name,
constexpr std::string_view names[] = {TILEWRIGHT_KERNELS(TILEWRIGHT_KERNEL_NAME)};
#undef TILEWRIGHT_KERNEL_NAME
}  // namespace

const Pipeline* KernelLibrary::find(std::uint64_t key) {
  std::lock_guard lock(mutex_);
  const auto found = pipelines_.find(key);
  if (found == pipelines_.end()) return nullptr;
  shortcut(key).store(&found->second, std::memory_order_release);
  return found->second.pipeline.get();
}

const Pipeline& KernelLibrary::compile(KernelId id, std::uint32_t variant,
                                       std::uint32_t params_bytes, TemplateVariables variables) {
  std::lock_guard lock(mutex_);
  const std::uint64_t wanted = key(id, variant);
  if (const auto found = pipelines_.find(wanted); found != pipelines_.end()) {
    return *found->second.pipeline;
  }
  const std::string_view name = names[static_cast<std::size_t>(id)];
  KernelDescription kernel;
  kernel.name = name;
  kernel.code = expand_template(text(name, ".wgsl"), variables,
                                [](std::string_view file) { return kernel_file(file); });
  kernel.entry = "main";
  kernel.bindings = bindings_of(kernel.code);
  kernel.params_bytes = params_bytes;
  kernel.trusted = true;
  if (!keep_) {
    return *(latest_[std::this_thread::get_id()] = device_.create_pipeline(kernel));
  }
  return *pipelines_.emplace(wanted, Kept{wanted, device_.create_pipeline(kernel)})
              .first->second.pipeline;
}

std::vector<Access> bindings_of(const ExpandedText& code) {
  static const std::regex declaration(
      R"(@group\(0\)\s*@binding\((\d+)\)\s*var<storage\s*,?\s*(\w*)>)");
  std::vector<std::pair<std::size_t, Access>> found;
  for (std::sregex_iterator match(code.text.begin(), code.text.end(), declaration), end;
       match != end; ++match) {
    found.emplace_back(std::stoul((*match)[1]),
                       (*match)[2] == "read_write" ? Access::read_write : Access::read);
  }
  std::vector<Access> bindings(found.size());
  std::vector<bool> seen(found.size());
  for (const auto& [number, access] : found) {
    if (number >= found.size() || seen[number]) {
      throw KernelError(text(code.lines.empty() ? "kernel" : code.lines[0].file, ": its ",
                             found.size(),
                             " bindings must be numbered from 0 on, each once; found ", number));
    }
    seen[number] = true;
    bindings[number] = access;
  }
  return bindings;
}

}  // namespace tilewright::gpu
