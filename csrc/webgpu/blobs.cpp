#include "webgpu/blobs.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace tilewright::webgpu {

namespace {

std::string_view view(const std::uint8_t* data, std::size_t bytes) {
  return {reinterpret_cast<const char*>(data), bytes};
}

std::size_t load(std::size_t key_bytes, const std::uint8_t* key, std::size_t value_bytes,
                 std::uint8_t* value, void* self, void*) {
  return static_cast<Blobs*>(self)->load(view(key, key_bytes), {value, value_bytes});
}

void store(std::size_t key_bytes, const std::uint8_t* key, std::size_t value_bytes,
           const std::uint8_t* value, void* self, void*) {
  static_cast<Blobs*>(self)->store(view(key, key_bytes), view(value, value_bytes));
}

}  // namespace

dawn::Cache Blobs::descriptor() noexcept {
  dawn::Cache cache{};
  cache.chain.sType = dawn::type_cache;
  cache.load = {nullptr, webgpu::load, this, nullptr};
  cache.store = {nullptr, webgpu::store, this, nullptr};
  return cache;
}

std::size_t Blobs::load(std::string_view key, std::span<std::uint8_t> value) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (value.empty() || asked_ != key) {
      found_ = files_.read(key);
      asked_ = key;
    }
    if (value.empty()) return found_.size();
    if (found_.size() != value.size()) return 0;
    std::ranges::copy(found_, value.begin());
    asked_.clear();
    return std::exchange(found_, {}).size();
  } catch (const std::exception&) {
    // No memory for it: it is compiled again.
    return 0;
  }
}

}  // namespace tilewright::webgpu
