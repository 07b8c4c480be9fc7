#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "webgpu/api.hpp"

namespace tilewright::webgpu {

/// A buffer that belongs to the host and the GPU in turn: the host holds it while it is mapped. It
/// stays where it is, since callbacks know its address.
class Staging {
 public:
  /// `mode`: whether the host reads what the GPU has copied here, or writes what it will copy.
  explicit Staging(WGPUMapMode mode) : mode_(mode) {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// A buffer of this size in place of the one before. One to write to starts out mapped.
  void create(const Api& api, WGPUDevice device, std::uint64_t bytes);
  void release();

  WGPUBuffer buffer() const { return buffer_; }
  std::uint64_t bytes() const { return bytes_; }
  /// Where the host finds it; null unless it is mapped.
  std::byte* data();

  /// Asks for it back from the GPU, which uses it last in `submission`. `bytes` of it will be read
  /// or written.
  void map(std::uint64_t bytes, std::uint64_t submission);
  std::uint64_t submission() const { return submission_; }
  bool pending() const { return state_.load(std::memory_order_acquire) == State::pending; }
  bool mapped() const { return state_.load(std::memory_order_acquire) == State::mapped; }
  /// Hands it to the GPU.
  void unmap();

 private:
  enum class State : std::uint8_t { unmapped, pending, mapped };

  const WGPUMapMode mode_;
  const Api* api_ = nullptr;
  WGPUBuffer buffer_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint64_t mapped_bytes_ = 0;
  std::byte* data_ = nullptr;
  std::uint64_t submission_ = 0;
  std::atomic<State> state_{State::unmapped};
};

}  // namespace tilewright::webgpu
