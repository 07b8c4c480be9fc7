#include "bindings/convert.hpp"

#include <algorithm>

#include "bindings/array.hpp"
#include "bindings/deferred.hpp"
#include "bindings/python_call.hpp"
#include "bindings/self.hpp"
#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

constexpr std::size_t longest_shown = 80;
constexpr Py_ssize_t most_items_shown = 1000;

/// Takes what the object holds, and what that holds, off `left`; false where it is more. Only of
/// Python's own types, whose repr() is as long as what they hold.
bool is_short(PyObject* object, Py_ssize_t& left) {
  left -= 1;
  if (PyUnicode_Check(object) || PyBytes_Check(object) || PyByteArray_Check(object) ||
      PyAnySet_Check(object)) {
    left -= PyObject_Size(object);
  } else if (PyList_Check(object) || PyTuple_Check(object)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
      if (!is_short(PySequence_Fast_GET_ITEM(object, i), left)) return false;
    }
  } else if (PyDict_Check(object)) {
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(object, &at, &key, &value) != 0;) {
      if (!is_short(key, left) || !is_short(value, left)) return false;
    }
  }
  return left >= 0;
}

bool is_bool(py::handle given) {
  if (PyBool_Check(given.ptr())) return true;
  const std::string_view type = Py_TYPE(given.ptr())->tp_name;
  return type == "numpy.bool" || type == "numpy.bool_";
}

/// Objects that count: int and whatever has __index__, such as NumPy's integers. Not bool.
py::object to_int(py::handle given, const Argument& argument, std::string_view expected) {
  if (is_bool(given) || !PyIndex_Check(given.ptr())) argument.refuse(given, expected);
  auto number =
      py::reinterpret_steal<py::object>(call_python([&] { return PyNumber_Index(given.ptr()); }));
  if (!number) {
    forget_error();
    argument.refuse(given, expected);
  }
  return number;
}

}  // namespace

py::str to_str(std::string_view text) {
  PyObject* decoded =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (decoded == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(decoded);
}

std::string shown(py::handle object) {
  const std::string type = Py_TYPE(object.ptr())->tp_name;
  if (object.is_none()) return "None";
  Py_ssize_t left = most_items_shown;
  if (!is_short(object.ptr(), left)) {
    return tilewright::text("of type ", type, ", ", PyObject_Size(object.ptr()), " long");
  }
  const auto repr =
      py::reinterpret_steal<py::object>(call_python([&] { return PyObject_Repr(object.ptr()); }));
  const char* utf8 = repr ? PyUnicode_AsUTF8(repr.ptr()) : nullptr;
  if (utf8 == nullptr) {
    forget_error();
    return "of type " + type;
  }
  std::string text(utf8);
  if (text.size() > longest_shown) {
    std::size_t end = longest_shown;
    // Not in the middle of a character.
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    text = text.substr(0, end) + "...";
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text + " (" + type + ")";
}

void Argument::refuse(py::handle given, std::string_view expected) const {
  throw InvalidArgument(text(call, ": ", name, " is ", shown(given), ", expected ", expected));
}

Size to_size(py::handle given, const Argument& argument) {
  constexpr std::string_view expected = "an integer";
  int overflow = 0;
  Size value;
  if (PyLong_CheckExact(given.ptr())) {
    value = PyLong_AsLongLongAndOverflow(given.ptr(), &overflow);
  } else {
    value = PyLong_AsLongLongAndOverflow(to_int(given, argument, expected).ptr(), &overflow);
  }
  if (overflow != 0) argument.refuse(given, "an integer of at most 64 bits");
  return value;
}

double to_double(py::handle given, const Argument& argument) {
  if (PyFloat_CheckExact(given.ptr())) return PyFloat_AS_DOUBLE(given.ptr());
  if (is_bool(given)) argument.refuse(given, "a number");
  const double value = call_python([&] { return PyFloat_AsDouble(given.ptr()); });
  if (value == -1.0 && PyErr_Occurred() != nullptr) {
    forget_error();
    argument.refuse(given, "a number");
  }
  return value;
}

bool to_bool(py::handle given, const Argument& argument) {
  if (!is_bool(given)) argument.refuse(given, "True or False");
  return PyObject_IsTrue(given.ptr()) == 1;
}

std::string to_string(py::handle given, const Argument& argument) {
  if (!PyUnicode_Check(given.ptr())) argument.refuse(given, "a str");
  Py_ssize_t size = 0;
  const char* utf8 = PyUnicode_AsUTF8AndSize(given.ptr(), &size);
  if (utf8 == nullptr) {
    forget_error();
    argument.refuse(given, "a str of valid Unicode");
  }
  return {utf8, static_cast<std::size_t>(size)};
}

std::uint64_t to_handle(py::handle given, const Argument& argument, std::string_view expected) {
  const std::uint64_t value =
      PyLong_CheckExact(given.ptr())
          ? PyLong_AsUnsignedLongLong(given.ptr())
          : PyLong_AsUnsignedLongLong(to_int(given, argument, expected).ptr());
  if (value == static_cast<std::uint64_t>(-1) && PyErr_Occurred() != nullptr) {
    forget_error();
    argument.refuse(given, expected);
  }
  return value;
}

Buffer to_buffer(py::handle given, const Argument& argument) {
  if (!PyLong_CheckExact(given.ptr())) {
    if (const ArrayObject* array = any_array_in(given)) {
      if (instance_of<Backend>(array->backend) != argument.backend) {
        argument.refuse(given, "an Array of this backend");
      }
      if (array->is_contiguous()) {
        // The call may write it.
        compute_readers(*array);
        return array->buffer();
      }
      throw InvalidArgument(
          text(argument.call, ": ", argument.name, " of shape ", std::string(py::str(array->shape)),
               " does not lie row by row in its memory; write ", argument.name, ".copy()"));
    }
  }
  return static_cast<Buffer>(to_handle(given, argument, "a buffer handle or an Array"));
}

std::vector<Size> to_sizes(py::handle given, const Argument& argument, Py_ssize_t count) {
  const auto refuse = [&] {
    argument.refuse(given, count < 0 ? text("a sequence of at most ", max_rank, " integers")
                                     : text("a sequence of ", count, " integers"));
  };
  const bool is_sequence =
      PySequence_Check(given.ptr()) && !PyUnicode_Check(given.ptr()) && !PyBytes_Check(given.ptr());
  const Py_ssize_t size =
      is_sequence ? call_python([&] { return PySequence_Size(given.ptr()); }) : -1;
  if (size < 0) forget_error();
  // Before the items are made, which a range does one by one.
  if (size < 0 || (count < 0 ? size > static_cast<Py_ssize_t>(max_rank) : size != count)) {
    refuse();
  }
  const auto items = py::reinterpret_steal<py::object>(
      call_python([&] { return PySequence_Fast(given.ptr(), ""); }));
  if (!items || PySequence_Fast_GET_SIZE(items.ptr()) != size) {
    forget_error();
    refuse();
  }
  std::vector<Size> sizes(static_cast<std::size_t>(size));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.ptr()) && i < size; ++i) {
    const auto item = py::reinterpret_borrow<py::object>(PySequence_Fast_GET_ITEM(items.ptr(), i));
    int overflow = 0;
    Size& value = sizes[static_cast<std::size_t>(i)];
    if (PyLong_CheckExact(item.ptr())) {
      value = PyLong_AsLongLongAndOverflow(item.ptr(), &overflow);
      if (overflow == 0) continue;
    }
    const std::string name = text(argument.name, "[", i, "]");
    value = to_size(item, {argument.call, name.c_str()});
  }
  return sizes;
}

std::size_t to_enum(py::handle given, const Argument& argument, std::string_view kind,
                    std::span<const std::string_view> names, py::handle enum_class) {
  const bool member = Py_TYPE(given.ptr()) == reinterpret_cast<PyTypeObject*>(enum_class.ptr());
  if (member || PyUnicode_CheckExact(given.ptr())) {
    Py_ssize_t size = 0;
    if (const char* utf8 = PyUnicode_AsUTF8AndSize(given.ptr(), &size)) {
      const std::string_view name(utf8, static_cast<std::size_t>(size));
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] == name) return i;
      }
    } else {
      forget_error();
    }
  }
  std::string expected = text("a ", kind, ":");
  for (const std::string_view name : names) {
    expected += text(name == names.front() ? " " : ", ", name);
  }
  argument.refuse(given, expected);
}

}  // namespace tilewright::bindings
