#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "tilewright/backend.hpp"

namespace tilewright::bindings {

/// A buffer that is freed with its last owner; what an Array of Python stands on. Several may share
/// one buffer.
class Storage {
 public:
  Storage(const std::shared_ptr<Backend>& backend, Size bytes);

  const Backend* backend() const { return owned_->backend.get(); }
  Buffer buffer() const { return owned_->buffer; }
  /// The buffer's own memory as a NumPy array of bytes, or None where the host cannot address it.
  pybind11::object host_memory() const;

 private:
  struct Owned {
    Owned(std::shared_ptr<Backend> owner, Size bytes)
        : backend(std::move(owner)), buffer(backend->alloc(bytes)) {}
    ~Owned() { backend->release(buffer); }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;

    std::shared_ptr<Backend> backend;
    Buffer buffer;
  };

  std::shared_ptr<const Owned> owned_;
};

void bind_array(pybind11::module_& module);

}  // namespace tilewright::bindings
