#include "webgpu/layouts.hpp"

#include <array>
#include <iterator>

#include "core/fork.hpp"

namespace tilewright::webgpu {

Layout::Layout(const Api& api, WGPUDevice device, const LayoutKey& key, std::uint64_t number)
    : api_(api), fork_generation_(fork_generation()), number_(number) {
  std::vector<WGPUBindGroupLayoutEntry> entries(key.entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i].binding = static_cast<std::uint32_t>(i);
    entries[i].visibility = WGPUShaderStage_Compute;
    entries[i].buffer.type = key.entries[i].writable ? WGPUBufferBindingType_Storage
                                                     : WGPUBufferBindingType_ReadOnlyStorage;
    entries[i].buffer.minBindingSize = key.entries[i].least_bytes;
  }
  WGPUBindGroupLayoutDescriptor group{};
  group.entryCount = entries.size();
  group.entries = entries.data();
  group_ = api_.DeviceCreateBindGroupLayout(device, &group);
  WGPUPipelineLayoutDescriptor pipeline{};
  const std::array<WGPUBindGroupLayout, 2> groups{group_, key.uniforms};
  pipeline.bindGroupLayoutCount = key.uniforms == nullptr ? 1 : 2;
  pipeline.bindGroupLayouts = groups.data();
  pipeline.immediateSize = static_cast<std::uint32_t>(key.immediate_bytes);
  pipeline_ = api_.DeviceCreatePipelineLayout(device, &pipeline);
}

Layout::~Layout() {
  if (fork_generation_ != fork_generation()) return;
  if (pipeline_ != nullptr) api_.PipelineLayoutRelease(pipeline_);
  if (group_ != nullptr) api_.BindGroupLayoutRelease(group_);
}

std::shared_ptr<const Layout> Layouts::get(const LayoutKey& key) {
  if (const auto found = layouts_.find(key); found != layouts_.end()) {
    order_.splice(order_.begin(), order_, found->second);
    return found->second->layout;
  }
  if (order_.size() >= capacity_) drop(std::prev(order_.end()));
  order_.push_front({key, std::make_shared<const Layout>(api_, device_, key, ++last_number_)});
  layouts_.emplace(key, order_.begin());
  return order_.front().layout;
}

void Layouts::drop(Order::iterator entry) {
  layouts_.erase(entry->key);
  order_.erase(entry);
}

}  // namespace tilewright::webgpu
