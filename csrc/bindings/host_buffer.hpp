#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <memory>
#include <span>

#include "bindings/convert.hpp"

namespace tilewright::bindings {

/// The memory of a Python object with the buffer protocol, as one contiguous piece: the object's
/// own where it is contiguous, else a copy.
class HostBuffer {
 public:
  enum class Access { read, write };

  HostBuffer(pybind11::handle object, const Argument& argument, Access access);
  ~HostBuffer();
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }
  /// Brings what was written to bytes() into an object that is not contiguous.
  void write_back();

 private:
  Py_buffer view_;
  std::unique_ptr<std::byte[]> copy_;
  std::span<std::byte> bytes_;
};

}  // namespace tilewright::bindings
