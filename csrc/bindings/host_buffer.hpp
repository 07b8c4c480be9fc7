#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <memory>
#include <span>

#include "bindings/call.hpp"
#include "bindings/convert.hpp"
#include "tilewright/error.hpp"

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

  /// The piece. Where it had to be copied but is longer than room(), which asks the core, it stands
  /// on no memory: the core refuses it by its length.
  template <class Room>
  std::span<std::byte> bytes_within(Room&& room) {
    if (is_contiguous()) return {static_cast<std::byte*>(view_.buf), size()};
    try {
      if (size() <= static_cast<std::size_t>(without_gil(room))) return copied();
    } catch (const Error&) {
      // The call that the bytes are for fails alike, and under its own name.
    }
    return {static_cast<std::byte*>(nullptr), size()};
  }
  /// Brings what was written to bytes() into an object that is not contiguous.
  void write_back();
  /// The piece, where it is the object's own memory; refuses it else.
  std::span<std::byte> bytes_in_place(pybind11::handle object, const Argument& argument) const;

 private:
  bool is_contiguous() const { return PyBuffer_IsContiguous(&view_, 'C') != 0; }
  std::size_t size() const { return static_cast<std::size_t>(view_.len); }
  std::span<std::byte> copied();

  Py_buffer view_;
  Access access_;
  std::unique_ptr<std::byte[]> copy_;
};

/// A HostBuffer to write to that the core keeps beyond a call. It is let go of anywhere, and Python
/// gets its object back in the next call (release_host_buffers).
class SharedHostBuffer {
 public:
  static std::shared_ptr<const SharedHostBuffer> of(pybind11::handle object,
                                                    const Argument& argument);
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  friend void release_host_buffers();
  SharedHostBuffer(pybind11::handle object, const Argument& argument)
      : buffer_(object, argument, HostBuffer::Access::write),
        bytes_(buffer_.bytes_in_place(object, argument)) {}

  HostBuffer buffer_;
  std::span<std::byte> bytes_;
  mutable const SharedHostBuffer* next_ = nullptr;  // of those let go of
};

}  // namespace tilewright::bindings
