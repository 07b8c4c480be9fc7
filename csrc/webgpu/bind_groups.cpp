#include "webgpu/bind_groups.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>

#include "webgpu/objects.hpp"

namespace tilewright::webgpu {

namespace {
std::atomic<std::uint64_t> last_number{0};
}  // namespace

std::size_t BindGroups::Hash::operator()(const Key& key) const {
  std::uint64_t h = key.layout;
  const auto mix = [&](std::uint64_t part) { h = (h ^ part) * 0x9e3779b97f4a7c15u, h ^= h >> 32; };
  for (const gpu::Binding& binding : key.bound()) {
    mix(reinterpret_cast<std::uintptr_t>(binding.buffer));
    mix(binding.offset);
    mix(binding.bytes);
  }
  return static_cast<std::size_t>(h);
}

BindGroups::~BindGroups() {
  for (const Entry& entry : order_) api_.BindGroupRelease(entry.group.handle);
}

const BindGroup* BindGroups::find_kept(const Layout& layout,
                                       std::span<const gpu::Binding> bindings) {
  if (bindings.size() > max_bindings) return nullptr;
  const auto found = groups_.find(Key(layout, bindings));
  if (found == groups_.end()) return nullptr;
  Entry& entry = *found->second;
  entry.was_used = true;
  recent(layout, bindings) = &entry;
  return &entry.group;
}

const BindGroup& BindGroups::make(const Layout& layout, std::span<const gpu::Binding> bindings) {
  std::array<WGPUBindGroupEntry, max_bindings> entries{};
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    entries[i].binding = static_cast<std::uint32_t>(i);
    entries[i].buffer = of(*bindings[i].buffer).handle;
    entries[i].offset = bindings[i].offset;
    entries[i].size = bindings[i].bytes;
  }
  WGPUBindGroupDescriptor descriptor{};
  descriptor.layout = layout.group();
  descriptor.entryCount = bindings.size();
  descriptor.entries = entries.data();
  make_room();
  const Key key(layout, bindings);
  order_.push_front({key, {api_.DeviceCreateBindGroup(device_, &descriptor), ++last_number}});
  groups_.emplace(key, order_.begin());
  recent(layout, bindings) = &order_.front();
  return order_.front().group;
}

void BindGroups::make_room() {
  while (!order_.empty() && order_.size() >= capacity_) {
    const auto last = std::prev(order_.end());
    if (!last->was_used) return drop(last);
    last->was_used = false;
    order_.splice(order_.begin(), order_, last);
  }
}

void BindGroups::forget(const gpu::DeviceBuffer& buffer) {
  for (auto entry = order_.begin(); entry != order_.end();) {
    const auto next = std::next(entry);
    if (std::ranges::count(entry->key.bound(), &buffer, &gpu::Binding::buffer) > 0) drop(entry);
    entry = next;
  }
}

void BindGroups::drop(Order::iterator entry) {
  api_.BindGroupRelease(entry->group.handle);
  std::ranges::replace(recent_, &*entry, nullptr);
  groups_.erase(entry->key);
  order_.erase(entry);
}

}  // namespace tilewright::webgpu
