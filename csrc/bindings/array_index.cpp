#include "bindings/array_index.hpp"

#include <array>
#include <string>
#include <vector>

#include "bindings/array_elementwise.hpp"
#include "bindings/array_map.hpp"
#include "bindings/array_take.hpp"
#include "bindings/convert.hpp"
#include "bindings/method.hpp"
#include "bindings/python_call.hpp"
#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

/// An integer as an index; not True and False, nor what has elements.
bool is_integer_index(PyObject* item) {
  if (PyLong_CheckExact(item)) return true;
  if (PyBool_Check(item) || is_array(item) || !PyIndex_Check(item)) return false;
  // NumPy's arrays of no dimension have an index too.
  return PyObject_HasAttrString(item, "__array_interface__") == 0 || PyLong_Check(item) ||
         PyObject_CheckBuffer(item) == 0 ||
         std::string_view(Py_TYPE(item)->tp_name) != "numpy.ndarray";
}

bool is_basic(PyObject* item) {
  return item == Py_None || item == Py_Ellipsis || PySlice_Check(item) || is_integer_index(item);
}

/// What integers, slices, Ellipsis and None make of a shape.
class Basic {
 public:
  explicit Basic(const ArrayObject& array)
      : array_(array),
        from_(array.shape),
        from_strides_(strides_of(array)),
        offset_(array.offset) {}

  py::object take(std::span<PyObject* const> items) {
    std::size_t consumed = 0, ellipses = 0;
    for (PyObject* item : items) {
      if (item == Py_Ellipsis) {
        ++ellipses;
      } else if (item != Py_None) {
        ++consumed;
      }
    }
    if (ellipses > 1) throw IndexOutOfRange("an index has one Ellipsis at most");
    if (consumed > from_.rank) {
      throw IndexOutOfRange(text("an index of ", consumed, " items, but the Array has ", from_.rank,
                                 " dimensions (shape ", std::string(py::str(array_.shape)), ")"));
    }
    const std::size_t rest = from_.rank - consumed;
    for (PyObject* item : items) {
      if (item == Py_None) {
        add(1, 0);
      } else if (item == Py_Ellipsis) {
        keep(rest);
      } else if (PySlice_Check(item)) {
        slice(item);
      } else {
        integer(item);
      }
    }
    if (ellipses == 0) keep(rest);
    return new_view(array_, to_.tuple(), strides_.span(), offset_);
  }

 private:
  void add(Size size, Size stride) {
    if (to_.rank == max_rank) {
      throw IndexOutOfRange(text("an index gives more than ", max_rank, " dimensions"));
    }
    to_.values[to_.rank++] = size;
    strides_.values[strides_.rank++] = stride;
  }

  void keep(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i, ++at_) add(from_[at_], from_strides_[at_]);
  }

  void slice(PyObject* item) {
    Py_ssize_t start, stop, step;
    if (call_python([&] { return PySlice_Unpack(item, &start, &stop, &step); }) < 0) {
      throw py::error_already_set();
    }
    const Py_ssize_t count = PySlice_AdjustIndices(from_[at_], &start, &stop, step);
    if (count > 0) offset_ += start * from_strides_[at_];
    // A step beyond the elements is of no use to one of them.
    add(count, count > 1 ? step * from_strides_[at_] : from_strides_[at_]);
    ++at_;
  }

  void integer(PyObject* item) {
    const Py_ssize_t index =
        call_python([&] { return PyNumber_AsSsize_t(item, PyExc_IndexError); });
    if (index == -1 && PyErr_Occurred() != nullptr) {
      if (PyErr_ExceptionMatches(PyExc_IndexError) == 0) throw py::error_already_set();
      PyErr_Clear();
      throw IndexOutOfRange(text("index ", shown(item), " is out of range for axis ", at_, " of ",
                                 from_[at_], " elements"));
    }
    const Size size = from_[at_];
    if (index < -size || index >= size) {
      throw IndexOutOfRange(
          text("index ", index, " is out of range for axis ", at_, " of ", size, " elements"));
    }
    offset_ += (index < 0 ? index + size : index) * from_strides_[at_];
    ++at_;
  }

  const ArrayObject& array_;
  Sizes from_, from_strides_;
  Size offset_;
  Sizes to_, strides_;
  std::size_t at_ = 0;
};

/// The view that an index gives; none where it asks for elements by arrays.
py::object basic_view(const ArrayObject& array, PyObject* key) {
  if (PyTuple_Check(key)) {
    const std::span<PyObject* const> items(reinterpret_cast<PyTupleObject*>(key)->ob_item,
                                           static_cast<std::size_t>(PyTuple_GET_SIZE(key)));
    for (PyObject* item : items) {
      if (!is_basic(item)) return {};
    }
    return Basic(array).take(items);
  }
  if (!is_basic(key)) return {};
  return Basic(array).take({&key, 1});
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

}  // namespace

PyObject* view_method(PyObject* self, PyObject* const* given, Py_ssize_t number) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    if (number != 3) throw py::type_error("expected shape, strides and offset");
    const ArrayObject& array = made(self);
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
