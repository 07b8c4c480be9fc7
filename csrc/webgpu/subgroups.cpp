#include <map>
#include <mutex>

#include "webgpu/objects.hpp"

namespace tilewright::webgpu {

namespace {

constexpr const char* kernel_text = R"(
@group(0) @binding(0) var<storage, read_write> result: array<u32>;
@compute @workgroup_size(128)
fn main(@builtin(subgroup_size) lanes: u32, @builtin(local_invocation_index) i: u32) {
  if (i == 0u) { result[0] = lanes; }
}
)";

}  // namespace

// Adapters do not say it (wgpu-native reports 0), so a kernel does. Once for each in the process.
std::uint32_t Device::subgroup_size() {
  if (!has_subgroups_) return 0;
  static std::mutex mutex;
  static auto* measured = new std::map<std::string, std::uint32_t>;
  std::lock_guard lock(mutex);
  if (const auto found = measured->find(info_.id); found != measured->end()) return found->second;
  gpu::KernelDescription kernel;
  kernel.name = "subgroup_size";
  kernel.code.text = kernel_text;
  kernel.entry = "main";
  const auto pipeline = create_pipeline(kernel);
  const auto buffer = create_buffer(sizeof(std::uint32_t));
  const gpu::Binding binding{buffer.get(), 0, sizeof(std::uint32_t)};
  launch({pipeline.get(), std::span(&binding, 1), {}, {1, 1, 1}});
  std::uint32_t lanes = 0;
  download(std::as_writable_bytes(std::span(&lanes, 1)), *buffer, 0);
  return (*measured)[info_.id] = lanes;
}

}  // namespace tilewright::webgpu
