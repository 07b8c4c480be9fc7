#include "bindings/strided.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "bindings/array_map.hpp"
#include "bindings/deferred.hpp"
#include "bindings/self.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

StridedOperand::StridedOperand(py::handle given, const Argument& argument, Py_ssize_t at) {
  if (const ArrayObject* any = any_array_in(given); any != nullptr && any->is_complex) {
    argument.refuse(given, "real numbers; give its real and imag");
  }
  const ArrayObject* array = array_in(given);
  if (array != nullptr && instance_of<Backend>(array->backend) == argument.backend) {
    compute_readers(*array);
    dtype_ = array->stored_as;
    buffer_ = array->filled->buffer();
    offset_ = array->offset;
    has_strides_ = !array->is_contiguous();
    if (has_strides_) strides_ = strides_of(*array);
    return;
  }
  if (!PyTuple_Check(given.ptr())) {
    buffer_ = to_buffer(given, argument);
    return;
  }
  const Py_ssize_t size = PyTuple_GET_SIZE(given.ptr());
  if (size < 2 || size > 3) {
    argument.refuse(given, "(buffer, strides) or (buffer, strides, offset)");
  }
  PyObject* const first = PyTuple_GET_ITEM(given.ptr(), 0);
  Size start = 0;
  if (const ArrayObject* whole = array_in(first);
      whole != nullptr && !whole->is_contiguous() &&
      instance_of<Backend>(whole->backend) == argument.backend) {
    // From its first element on.
    compute_readers(*whole);
    buffer_ = whole->filled->buffer();
    start = whole->offset;
  } else {
    buffer_ = to_buffer(first, argument);
  }
  // Not by a stream, which takes longer to make than all else here.
  std::string name = argument.name;
  if (at >= 0) name += "[" + std::to_string(at) + "]";
  const std::string strides_name = name + ".strides";
  const std::vector<Size> strides =
      to_sizes(PyTuple_GET_ITEM(given.ptr(), 1), {argument.call, strides_name.c_str()});
  has_strides_ = true;
  strides_.rank = strides.size();
  std::ranges::copy(strides, strides_.values.begin());
  if (size == 3) {
    const std::string offset_name = name + ".offset";
    offset_ = to_size(PyTuple_GET_ITEM(given.ptr(), 2), {argument.call, offset_name.c_str()});
  }
  if (offset_ >= 0) offset_ += start;
}

}  // namespace tilewright::bindings
