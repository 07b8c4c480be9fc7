#include "bindings/basic_index.hpp"

#include <string>
#include <string_view>

#include "bindings/array_map.hpp"
#include "bindings/convert.hpp"
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

/// What the items of an index make of a shape, one after the other.
class Walk {
 public:
  Walk(const ArrayObject& array, BasicIndex& to)
      : array_(array), from_(array.shape), from_strides_(strides_of(array)), to_(to) {
    to.offset = array.offset;
  }

  void take(std::span<PyObject* const> items) {
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
  }

 private:
  void add(Size size, Size stride) {
    Sizes &shape = to_.shape, &strides = to_.strides;
    if (shape.rank == max_rank) {
      throw IndexOutOfRange(text("an index gives more than ", max_rank, " dimensions"));
    }
    shape.values[shape.rank++] = size;
    strides.values[strides.rank++] = stride;
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
    if (count > 0) to_.offset += start * from_strides_[at_];
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
    to_.offset += (index < 0 ? index + size : index) * from_strides_[at_];
    ++at_;
  }

  const ArrayObject& array_;
  Sizes from_, from_strides_;
  BasicIndex& to_;
  std::size_t at_ = 0;
};

}  // namespace

bool is_basic(PyObject* item) {
  return item == Py_None || item == Py_Ellipsis || PySlice_Check(item) || is_integer_index(item);
}

BasicIndex::BasicIndex(const ArrayObject& array, std::span<PyObject* const> items) {
  Walk(array, *this).take(items);
}

}  // namespace tilewright::bindings
