#include "bindings/host_buffer.hpp"

#include <string_view>

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

bool holds_objects(const Py_buffer& view) {
  return view.format != nullptr && std::string_view(view.format).find('O') != std::string::npos;
}

}  // namespace

HostBuffer::HostBuffer(py::handle object, const Argument& argument, Access access) {
  const bool write = access == Access::write;
  const int flags = write ? PyBUF_FULL : PyBUF_FULL_RO;
  if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) {
    PyErr_Clear();
    argument.refuse(object,
                    write ? "a writable object with the buffer protocol, such as a NumPy array"
                          : "an object with the buffer protocol, such as a NumPy array");
  }
  try {
    if (holds_objects(view_)) argument.refuse(object, "a buffer of numbers, not of objects");
    const auto size = static_cast<std::size_t>(view_.len);
    if (PyBuffer_IsContiguous(&view_, 'C') != 0) {
      bytes_ = {static_cast<std::byte*>(view_.buf), size};
      return;
    }
    copy_ = std::make_unique<std::byte[]>(size);
    bytes_ = {copy_.get(), size};
    if (!write && PyBuffer_ToContiguous(copy_.get(), &view_, view_.len, 'C') != 0) {
      throw py::error_already_set();
    }
  } catch (...) {
    PyBuffer_Release(&view_);
    throw;
  }
}

HostBuffer::~HostBuffer() { PyBuffer_Release(&view_); }

void HostBuffer::write_back() {
  if (copy_ && PyBuffer_FromContiguous(&view_, copy_.get(), view_.len, 'C') != 0) {
    throw py::error_already_set();
  }
}

}  // namespace tilewright::bindings
