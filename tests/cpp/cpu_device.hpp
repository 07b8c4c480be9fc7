#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "tilewright/registry.hpp"

namespace tilewright {

using Floats = std::vector<float>;

/// A CPU backend of one's own, and buffers of it that have no byte to spare.
class Cpu {
 public:
  Backend& operator*() const { return *be_; }
  Backend* operator->() const { return be_.get(); }

  template <class T>
  Buffer put(const std::vector<T>& values) const {
    const Buffer buffer = be_->alloc(static_cast<Size>(values.size() * sizeof(T)));
    be_->copy_htod(buffer, std::as_bytes(std::span(values)));
    return buffer;
  }
  Buffer room(Size n) const { return put(Floats(static_cast<std::size_t>(n), 1e30f)); }
  Floats get(Buffer buffer) const {
    Floats values(static_cast<std::size_t>(be_->buffer_bytes(buffer)) / 4);
    be_->copy_dtoh(std::as_writable_bytes(std::span(values)), buffer);
    return values;
  }

 private:
  std::shared_ptr<Backend> be_ = init_backend("cpu");
};

}  // namespace tilewright
