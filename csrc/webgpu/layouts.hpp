#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include "webgpu/api.hpp"

namespace tilewright::webgpu {

/// What a pipeline binds, in one group: its buffers, and then its parameters, as immediates or
/// through a group of their own.
struct LayoutKey {
  struct Entry {
    bool writable;
    std::uint64_t least_bytes;
    auto operator<=>(const Entry&) const = default;
  };
  std::vector<Entry> entries;
  std::uint64_t immediate_bytes = 0;
  WGPUBindGroupLayout uniforms = nullptr;
  auto operator<=>(const LayoutKey&) const = default;
};

/// The library's objects for one key. Those who use it share it: it may no longer be kept.
class Layout {
 public:
  Layout(const Api& api, WGPUDevice device, const LayoutKey& key, std::uint64_t number);
  ~Layout();
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

  WGPUBindGroupLayout group() const { return group_; }
  WGPUPipelineLayout pipeline() const { return pipeline_; }
  /// Of its own: a handle that was released may come again.
  std::uint64_t number() const { return number_; }

 private:
  const Api& api_;
  const unsigned fork_generation_;
  const std::uint64_t number_;
  WGPUBindGroupLayout group_ = nullptr;
  WGPUPipelineLayout pipeline_ = nullptr;
};

/// Keeps layouts for pipelines to come, the most recently used `capacity` of them. Not
/// synchronised: the device holds its lock.
class Layouts {
 public:
  Layouts(const Api& api, WGPUDevice device, std::size_t capacity)
      : api_(api), device_(device), capacity_(capacity) {}

  std::shared_ptr<const Layout> get(const LayoutKey& key);
  /// Lets go of the layout that was just got.
  void drop_newest() { drop(order_.begin()); }

 private:
  struct Entry {
    LayoutKey key;
    std::shared_ptr<const Layout> layout;
  };
  using Order = std::list<Entry>;  // most recent first

  void drop(Order::iterator entry);

  const Api& api_;
  WGPUDevice device_;
  std::size_t capacity_;
  Order order_;
  std::map<LayoutKey, Order::iterator> layouts_;
  std::uint64_t last_number_ = 0;
};

}  // namespace tilewright::webgpu
