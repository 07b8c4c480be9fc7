#include "webgpu/bind_groups.hpp"

#include <algorithm>
#include <atomic>

namespace tilewright::webgpu {

namespace {
std::atomic<std::uint64_t> last_number{0};
}  // namespace

bool BindGroups::Key::operator==(const Key& other) const {
  return layout == other.layout && count == other.count &&
         std::equal(ranges.begin(), ranges.begin() + count, other.ranges.begin());
}

std::size_t BindGroups::Hash::operator()(const Key& key) const {
  std::uint64_t h = key.layout;
  for (std::uint32_t i = 0; i < key.count; ++i) {
    for (std::uint64_t part : key.ranges[i]) h = (h ^ part) * 0x9e3779b97f4a7c15u, h ^= h >> 32;
  }
  return static_cast<std::size_t>(h);
}

BindGroups::~BindGroups() {
  for (const Entry& entry : order_) api().BindGroupRelease(entry.group.handle);
}

bool BindGroups::Entry::is_for(const Layout& layout, std::span<const BoundRange> ranges) const {
  return key.layout == layout.number() && key.count == ranges.size() &&
         std::equal(ranges.begin(), ranges.end(), key.ranges.begin(),
                    [](const BoundRange& range, const auto& kept) {
                      return range.buffer_id == kept[0] && range.offset == kept[1] &&
                             range.bytes == kept[2];
                    });
}

BindGroups::Entry*& BindGroups::recent(const Layout& layout, std::span<const BoundRange> ranges) {
  std::uint64_t mixed = layout.number();
  for (const BoundRange& range : ranges) {
    mixed = 5 * mixed + range.buffer_id + (range.offset >> 8);
  }
  return recent_[(mixed ^ mixed >> 6) % most_recent];
}

BindGroup BindGroups::get(const Layout& layout, std::span<const BoundRange> ranges) {
  Entry*& latest = recent(layout, ranges);
  if (latest != nullptr && latest->is_for(layout, ranges)) {
    if (latest != &order_.front()) order_.splice(order_.begin(), order_, latest->place);
    return latest->group;
  }
  Key key;
  key.layout = layout.number();
  key.count = static_cast<std::uint32_t>(ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    key.ranges[i] = {ranges[i].buffer_id, ranges[i].offset, ranges[i].bytes};
  }
  if (const auto found = groups_.find(key); found != groups_.end()) {
    order_.splice(order_.begin(), order_, found->second);
    latest = &*found->second;
    return latest->group;
  }
  std::array<WGPUBindGroupEntry, max_ranges> entries{};
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    entries[i].binding = static_cast<std::uint32_t>(i);
    entries[i].buffer = ranges[i].buffer;
    entries[i].offset = ranges[i].offset;
    entries[i].size = ranges[i].bytes;
  }
  WGPUBindGroupDescriptor descriptor{};
  descriptor.layout = layout.group();
  descriptor.entryCount = ranges.size();
  descriptor.entries = entries.data();
  if (order_.size() >= capacity_) drop(std::prev(order_.end()));
  order_.push_front({key, {api().DeviceCreateBindGroup(device_, &descriptor), ++last_number}, {}});
  latest = &order_.front();
  latest->place = order_.begin();
  groups_.emplace(key, order_.begin());
  return latest->group;
}

void BindGroups::forget(std::uint64_t buffer_id) {
  for (auto entry = order_.begin(); entry != order_.end();) {
    const auto next = std::next(entry);
    const auto begin = entry->key.ranges.begin();
    if (std::any_of(begin, begin + entry->key.count,
                    [&](const auto& range) { return range[0] == buffer_id; })) {
      drop(entry);
    }
    entry = next;
  }
}

void BindGroups::drop(Order::iterator entry) {
  api().BindGroupRelease(entry->group.handle);
  std::ranges::replace(recent_, &*entry, nullptr);
  groups_.erase(entry->key);
  order_.erase(entry);
}

}  // namespace tilewright::webgpu
