#pragma once

#include <memory>
#include <utility>

#include "tilewright/backend.hpp"

namespace tilewright {

/// A buffer that is freed with its owner, and that keeps its backend alive till then. Passes for
/// the Buffer in every call. Work that is queued on it as it goes still completes. After the
/// backend's close() it holds a handle that is not live any more, and lets go of it in silence.
class OwnedBuffer {
 public:
  /// Owns nothing: Buffer::null.
  OwnedBuffer() noexcept = default;
  /// A new buffer, as by alloc().
  OwnedBuffer(std::shared_ptr<Backend> backend, Size bytes)
      : backend_(std::move(backend)), buffer_(of(backend_).alloc(bytes)), bytes_(bytes) {}
  ~OwnedBuffer() { reset(); }
  OwnedBuffer(OwnedBuffer&& other) noexcept { swap(other); }
  OwnedBuffer& operator=(OwnedBuffer&& other) noexcept {
    OwnedBuffer(std::move(other)).swap(*this);
    return *this;
  }

  Buffer buffer() const noexcept { return buffer_; }
  operator Buffer() const noexcept { return buffer_; }      // NOLINT: it passes for one
  operator MapOperand() const noexcept { return buffer_; }  // NOLINT: and for a contiguous operand
  explicit operator bool() const noexcept { return buffer_ != Buffer::null; }
  /// The size that it was made with; 0 where it owns nothing.
  Size bytes() const noexcept { return bytes_; }
  const std::shared_ptr<Backend>& backend() const noexcept { return backend_; }

  /// Gives the buffer up without freeing it: the caller has to.
  [[nodiscard]] Buffer release() noexcept {
    const Buffer given = std::exchange(buffer_, Buffer::null);
    reset();
    return given;
  }
  /// Frees the buffer now.
  void reset() noexcept {
    if (buffer_ != Buffer::null) backend_->release(std::exchange(buffer_, Buffer::null));
    bytes_ = 0;
    backend_.reset();
  }
  void swap(OwnedBuffer& other) noexcept {
    backend_.swap(other.backend_);
    std::swap(buffer_, other.buffer_);
    std::swap(bytes_, other.bytes_);
  }

 protected:
  /// Of a buffer that is live already.
  OwnedBuffer(std::shared_ptr<Backend> backend, Buffer buffer, Size bytes) noexcept
      : backend_(std::move(backend)), buffer_(buffer), bytes_(bytes) {}

 private:
  static Backend& of(const std::shared_ptr<Backend>& backend) {
    if (!backend) throw InvalidArgument("OwnedBuffer: backend is null, expected a backend");
    return *backend;
  }

  std::shared_ptr<Backend> backend_;
  Buffer buffer_ = Buffer::null;
  Size bytes_ = 0;
};

}  // namespace tilewright
