#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/kept_files.hpp"
#include "webgpu/dawn.hpp"

namespace tilewright::webgpu {

/// What Dawn has kept for later processes: kernels as the driver takes them, and what the driver
/// made of those where it lets that be had. Of one device, which it has to outlive.
class Blobs {
 public:
  /// `maker`: the device, its driver and the library, with their versions.
  explicit Blobs(std::string maker) : files_("webgpu", std::move(maker)) {}
  Blobs(const Blobs&) = delete;
  Blobs& operator=(const Blobs&) = delete;

  /// To be chained to the device's.
  dawn::Cache descriptor() noexcept;

  // Called from inside Dawn, on any thread, so no exception may leave them.
  std::size_t load(std::string_view key, std::span<std::uint8_t> value) noexcept;
  void store(std::string_view key, std::string_view value) noexcept { files_.write(key, value); }

 private:
  const KeptFiles files_;
  std::mutex mutex_;
  // Dawn asks for a size and then for the value, which another process may have replaced meanwhile.
  std::string asked_, found_;
};

}  // namespace tilewright::webgpu
