#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

#include "gpu/device.hpp"
#include "webgpu/api.hpp"
#include "webgpu/layouts.hpp"

namespace tilewright::webgpu {

/// A kept group, by a number that no other of the process has: a handle that was released may come
/// again.
struct BindGroup {
  WGPUBindGroup handle;
  std::uint64_t number;
};

/// Keeps bind groups by layout and bindings, `capacity` of those that were used lately. Not
/// synchronised: the device holds its lock.
class BindGroups {
 public:
  /// Of those that a device has, which may be a million.
  static constexpr std::size_t max_bindings = 64;

  BindGroups(const Api& api, WGPUDevice device, std::size_t capacity)
      : api_(api), device_(device), capacity_(capacity) {}
  ~BindGroups();
  BindGroups(const BindGroups&) = delete;
  BindGroups& operator=(const BindGroups&) = delete;

  /// The kept one, or null.
  const BindGroup* find(const Layout& layout, std::span<const gpu::Binding> bindings) {
    Entry* const entry = recent(layout, bindings);
    if (entry == nullptr || !entry->key.is_of(layout, bindings)) [[unlikely]] {
      return find_kept(layout, bindings);
    }
    entry->was_used = true;
    return &entry->group;
  }
  /// Whether make() lets go of another one.
  bool is_full() const { return order_.size() >= capacity_; }
  /// One that is not kept yet.
  const BindGroup& make(const Layout& layout, std::span<const gpu::Binding> bindings);
  /// Lets go of every group with this buffer, so that its memory can be given back, and before
  /// another buffer comes to lie where it was.
  void forget(const gpu::DeviceBuffer& buffer);
  /// Lets go of the group that was just made.
  void drop_newest() { drop(order_.begin()); }

 private:
  static constexpr std::size_t few = 8;
  struct Key {
    std::uint64_t layout = 0;  // its number
    std::size_t count = 0;
    std::array<gpu::Binding, few> bindings{};
    std::vector<gpu::Binding> many;  // all, where they are more than a few

    Key(const Layout& of, std::span<const gpu::Binding> bound)
        : layout(of.number()), count(bound.size()) {
      if (count <= few) {
        std::ranges::copy(bound, bindings.begin());
      } else {
        many.assign(bound.begin(), bound.end());
      }
    }
    std::span<const gpu::Binding> bound() const {
      return count <= few ? std::span(bindings).first(count) : std::span(many);
    }
    bool is_of(const Layout& of, std::span<const gpu::Binding> others) const {
      if (layout != of.number() || count != others.size()) return false;
      const gpu::Binding* const own = count <= few ? bindings.data() : many.data();
      for (std::size_t i = 0; i < others.size(); ++i) {
        if (!(own[i] == others[i])) return false;
      }
      return true;
    }
    bool operator==(const Key& other) const {
      return layout == other.layout && std::ranges::equal(bound(), other.bound());
    }
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Entry {
    Key key;
    BindGroup group;
    bool was_used = false;  // since it last came to the front
  };
  using Order = std::list<Entry>;  // those at the end go first, but for what was used meanwhile

  /// One for each of many places: where a group that is used again and again is found first.
  Entry*& recent(const Layout& layout, std::span<const gpu::Binding> bindings) {
    std::uint64_t mixed = layout.number();
    for (const gpu::Binding& binding : bindings) {
      mixed = 5 * mixed + (reinterpret_cast<std::uintptr_t>(binding.buffer) >> 4) +
              (binding.offset >> 8);
    }
    return recent_[(mixed ^ mixed >> 6) % most_recent];
  }
  const BindGroup* find_kept(const Layout& layout, std::span<const gpu::Binding> bindings);
  void drop(Order::iterator entry);
  void make_room();

  const Api& api_;
  WGPUDevice device_;
  std::size_t capacity_;
  Order order_;
  std::unordered_map<Key, Order::iterator, Hash> groups_;
  static constexpr std::size_t most_recent = 64;
  std::array<Entry*, most_recent> recent_{};
};

}  // namespace tilewright::webgpu
