#include "bindings/host_buffer.hpp"

#include <atomic>
#include <string_view>
#include <utility>

#include "bindings/python_call.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

bool holds_objects(const Py_buffer& view) {
  return view.format != nullptr && std::string_view(view.format).find('O') != std::string::npos;
}

// Without a lock, so that a fork cannot leave one taken.
std::atomic<const SharedHostBuffer*> let_go{nullptr};

}  // namespace

HostBuffer::HostBuffer(py::handle object, const Argument& argument, Access access)
    : access_(access) {
  const bool write = access == Access::write;
  const int flags = write ? PyBUF_FULL : PyBUF_FULL_RO;
  if (call_python([&] { return PyObject_GetBuffer(object.ptr(), &view_, flags); }) != 0) {
    forget_error();
    argument.refuse(object,
                    write ? "a writable object with the buffer protocol, such as a NumPy array"
                          : "an object with the buffer protocol, such as a NumPy array");
  }
  if (holds_objects(view_)) {
    call_python([&] { PyBuffer_Release(&view_); });
    argument.refuse(object, "a buffer of numbers, not of objects");
  }
}

HostBuffer::~HostBuffer() {
  call_python([&] { PyBuffer_Release(&view_); });
}

std::span<std::byte> HostBuffer::copied() {
  copy_ = std::make_unique_for_overwrite<std::byte[]>(size());
  if (access_ == Access::read && PyBuffer_ToContiguous(copy_.get(), &view_, view_.len, 'C') != 0) {
    throw py::error_already_set();
  }
  return {copy_.get(), size()};
}

std::span<std::byte> HostBuffer::bytes_in_place(py::handle object, const Argument& argument) const {
  if (!is_contiguous()) {
    argument.refuse(object, "memory in one piece (C order), which copy_dtoh does without");
  }
  return {static_cast<std::byte*>(view_.buf), size()};
}

std::shared_ptr<const SharedHostBuffer> SharedHostBuffer::of(py::handle object,
                                                             const Argument& argument) {
  return {new SharedHostBuffer(object, argument), [](const SharedHostBuffer* buffer) {
            buffer->next_ = let_go.load(std::memory_order_relaxed);
            while (!let_go.compare_exchange_weak(buffer->next_, buffer, std::memory_order_release,
                                                 std::memory_order_relaxed)) {
            }
          }};
}

void release_host_buffers() {
  if (let_go.load(std::memory_order_relaxed) == nullptr) return;
  const SharedHostBuffer* buffer = let_go.exchange(nullptr, std::memory_order_acquire);
  while (buffer != nullptr) delete std::exchange(buffer, buffer->next_);
}

void HostBuffer::write_back() {
  if (copy_ && PyBuffer_FromContiguous(&view_, copy_.get(), view_.len, 'C') != 0) {
    throw py::error_already_set();
  }
}

}  // namespace tilewright::bindings
