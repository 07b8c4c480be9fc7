#include "bindings/array_index.hpp"

#include <algorithm>
#include <vector>

#include "bindings/array_arguments.hpp"
#include "bindings/array_elementwise.hpp"
#include "bindings/array_take.hpp"
#include "bindings/basic_index.hpp"
#include "bindings/convert.hpp"
#include "bindings/method.hpp"
#include "bindings/python_call.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

py::object view_of(const ArrayObject& array, std::span<PyObject* const> items) {
  const BasicIndex found(array, items);
  return new_view(array, found.shape.tuple(), found.strides.span(), found.offset);
}

/// The view that an index gives; none where it asks for elements by arrays.
py::object basic_view(const ArrayObject& array, PyObject* key) {
  if (PyTuple_Check(key)) {
    const std::span<PyObject* const> items(reinterpret_cast<PyTupleObject*>(key)->ob_item,
                                           static_cast<std::size_t>(PyTuple_GET_SIZE(key)));
    for (PyObject* item : items) {
      if (!is_basic(item)) return {};
    }
    return view_of(array, items);
  }
  if (!is_basic(key)) return {};
  return view_of(array, {&key, 1});
}

PyObject* subscript(PyObject* self, PyObject* key) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    py::object view = basic_view(made(self), key);
    if (!view) view = take_by_arrays(made(self), key);
    if (!view) {
      view = call_python(py::handle(self).attr("_take_by"), py::make_tuple(py::handle(key)));
    }
    return view.release().ptr();
  });
}

int assign_subscript(PyObject* self, PyObject* key, PyObject* value) {
  return guarded(-1, [&] {
    if (value == nullptr) throw py::type_error("the elements of an Array cannot be deleted");
    const py::object view = basic_view(made(self), key);
    if (view) {
      assign(*any_array_in(view), value);
    } else if (!put_by_arrays(made(self), key, value)) {
      call_python(py::handle(self).attr("_put_by"),
                  py::make_tuple(py::handle(key), py::handle(value)));
    }
    return 0;
  });
}

/// A tuple of int as it is given nearly always; false for all else.
bool read_plainly(PyObject* given, Sizes& sizes) {
  if (!PyTuple_CheckExact(given) || PyTuple_GET_SIZE(given) > static_cast<Py_ssize_t>(max_rank)) {
    return false;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given); ++i) {
    const auto one = integer_in(PyTuple_GET_ITEM(given, i));
    if (!one) return false;
    sizes.values[sizes.rank++] = *one;
  }
  return true;
}

}  // namespace

PyObject* view_method(PyObject* self, PyObject* const* given, Py_ssize_t number) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    if (number != 3) throw py::type_error("expected shape, strides and offset");
    const ArrayObject& array = made(self);
    Sizes plain_shape, plain_strides;
    const auto at = integer_in(given[2]);
    if (at && read_plainly(given[0], plain_shape) && read_plainly(given[1], plain_strides) &&
        plain_shape.rank == plain_strides.rank &&
        std::ranges::all_of(plain_shape.span(), [](Size size) { return size >= 0; })) {
      return new_view(array, given[0], plain_strides.span(), *at).release().ptr();
    }
    if (!PyTuple_CheckExact(given[0])) Argument{"view", "shape"}.refuse(given[0], "a tuple");
    const auto rank = PyTuple_GET_SIZE(given[0]);
    const std::vector<Size> strides = to_sizes(given[1], {"view", "strides"}, rank);
    for (const Size size : to_sizes(given[0], {"view", "shape"})) {
      if (size < 0) Argument{"view", "shape"}.refuse(given[0], "sizes of 0 or more");
    }
    const Size offset = to_size(given[2], {"view", "offset"});
    return new_view(array, given[0], strides, offset).release().ptr();
  });
}

std::span<PyType_Slot> index_slots() {
  static PyType_Slot slots[] = {
      {Py_mp_subscript, reinterpret_cast<void*>(subscript)},
      {Py_mp_ass_subscript, reinterpret_cast<void*>(assign_subscript)},
  };
  return slots;
}

}  // namespace tilewright::bindings
