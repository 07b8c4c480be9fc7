#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>

#include "webgpu/api.hpp"
#include "webgpu/layouts.hpp"

namespace tilewright::webgpu {

/// One bound range, by the buffer's number: numbers are never reused, handles may be.
struct BoundRange {
  std::uint64_t buffer_id;
  WGPUBuffer buffer;
  std::uint64_t offset;
  std::uint64_t bytes;
};

/// A kept group, by a number that no other of the process has: a handle that was released may come
/// again.
struct BindGroup {
  WGPUBindGroup handle;
  std::uint64_t number;
};

/// Keeps bind groups by layout and ranges, the most recently used `capacity` of them. Not
/// synchronised: the device holds its lock.
class BindGroups {
 public:
  static constexpr std::size_t max_ranges = 8;

  BindGroups(WGPUDevice device, std::size_t capacity) : device_(device), capacity_(capacity) {}
  ~BindGroups();
  BindGroups(const BindGroups&) = delete;
  BindGroups& operator=(const BindGroups&) = delete;

  BindGroup get(const Layout& layout, std::span<const BoundRange> ranges);
  /// Lets go of every group with this buffer, so that its memory can be given back.
  void forget(std::uint64_t buffer_id);
  /// Lets go of the group that was just got.
  void drop_newest() { drop(order_.begin()); }

 private:
  struct Key {
    std::uint64_t layout = 0;  // its number
    std::uint32_t count = 0;
    std::array<std::array<std::uint64_t, 3>, max_ranges> ranges{};
    bool operator==(const Key& other) const;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Entry;
  using Order = std::list<Entry>;  // most recent first
  struct Entry {
    Key key;
    BindGroup group;
    Order::iterator place;
    bool is_for(const Layout& layout, std::span<const BoundRange> ranges) const;
  };

  /// One for each of many places: where a group that is got again and again is found first.
  Entry*& recent(const Layout& layout, std::span<const BoundRange> ranges);
  void drop(Order::iterator entry);

  WGPUDevice device_;
  std::size_t capacity_;
  Order order_;
  std::unordered_map<Key, Order::iterator, Hash> groups_;
  static constexpr std::size_t most_recent = 64;
  std::array<Entry*, most_recent> recent_{};
};

}  // namespace tilewright::webgpu
