#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <utility>

#include "tilewright/backend.hpp"

namespace tilewright::bindings {

/// A buffer that is freed with its last owner. Several Arrays may share one.
class OwnedBuffer {
 public:
  /// Called without the GIL.
  OwnedBuffer(std::shared_ptr<Backend> backend, Size bytes)
      : backend_(std::move(backend)), buffer_(backend_->alloc(bytes)) {}
  ~OwnedBuffer() { backend_->release(buffer_); }
  OwnedBuffer(const OwnedBuffer&) = delete;
  OwnedBuffer& operator=(const OwnedBuffer&) = delete;

  Backend* backend() const { return backend_.get(); }
  Buffer buffer() const { return buffer_; }

 private:
  std::shared_ptr<Backend> backend_;
  Buffer buffer_;
};

using Memory = std::shared_ptr<const OwnedBuffer>;

/// What an Array of Python is made of. An object of CPython's own kind and not of pybind11's, since
/// every op of the array tier looks into its operands and makes one. Nothing in it changes once it
/// is made.
struct ArrayObject {
  PyObject_HEAD;
  PyObject* backend;  ///< Python's; null until it is made, as what follows
  PyObject* shape;    ///< a tuple of int
  PyObject* dtype;    ///< NumPy's
  PyObject* weak_references;
  Size size;  ///< in elements
  DType stored_as;
  Memory memory;

  Buffer buffer() const { return memory->buffer(); }
};

bool is_array(pybind11::handle object) noexcept;
/// Null for what is no Array, and for one whose class never called Array's __init__.
ArrayObject* array_in(pybind11::handle object) noexcept;

/// A new Array of Python's class in memory of its own, contents undefined. The shape is a tuple of
/// int that are not negative.
pybind11::object new_array(PyObject* backend, pybind11::handle shape, DType dtype);

/// How many elements a shape has; InvalidArgument where 64 bits do not count their bytes.
Size elements_of(const char* call, pybind11::handle shape);

/// NumPy's dtype.
PyObject* numpy_dtype(DType dtype) noexcept;
/// The DType that is NumPy's `dtype`; InvalidArgument where there is none.
DType to_stored_as(pybind11::handle dtype, const char* call);

void bind_array(pybind11::module_& module);

}  // namespace tilewright::bindings
