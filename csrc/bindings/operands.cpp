#include "bindings/operands.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "bindings/method.hpp"
#include "bindings/python_call.hpp"
#include "bindings/self.hpp"
#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

[[noreturn]] void invalid(const char* call, const std::string& what) {
  throw InvalidArgument(text(call, ": ", what));
}

std::string in_words(py::handle object) { return py::str(object); }

py::object new_method(PyObject* self, Arguments given) {
  return new_array(self, given[0], to_stored_as(given[1], "empty"));
}

py::object own_method(PyObject* self, Arguments given) {
  check_own(self, characters(given[0]), characters(given[1]), given[2]);
  return py::none();
}

/// _read(call, **given)
PyObject* read_method(PyObject* self, PyObject* const* given, Py_ssize_t number,
                      PyObject* keywords) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    if (number != 1 || keywords == nullptr) throw py::type_error("expected operands by name");
    const auto count = static_cast<std::size_t>(PyTuple_GET_SIZE(keywords));
    const Arguments operands(given + 1, count);
    if (!all_ready(self, operands)) {
      std::vector<const char*> names;
      for (std::size_t i = 0; i < count; ++i) {
        names.push_back(characters(PyTuple_GET_ITEM(keywords, i)));
      }
      return read_each(self, characters(given[0]), names, operands).release().ptr();
    }
    py::list arrays(count);
    for (std::size_t i = 0; i < count; ++i) {
      PyList_SET_ITEM(arrays.ptr(), static_cast<Py_ssize_t>(i), Py_NewRef(operands[i]));
    }
    return arrays.release().ptr();
  });
}

/// _result(call, out, shape, dtype, *inputs)
PyObject* result_method(PyObject* self, PyObject* const* given, Py_ssize_t number) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    constexpr Py_ssize_t fixed = 4, most_inputs = 8;
    if (number < fixed || number > fixed + most_inputs) {
      throw py::type_error("expected call, out, shape, dtype and up to 8 inputs");
    }
    std::array<const ArrayObject*, most_inputs> inputs;
    for (Py_ssize_t i = fixed; i < number; ++i) inputs[i - fixed] = array_in(given[i]);
    const char* call = characters(given[0]);
    Result result(self, call, given[1], given[2], to_stored_as(given[3], call),
                  std::span(inputs).first(static_cast<std::size_t>(number - fixed)));
    return result.release().release().ptr();
  });
}

PyMethodDef methods[] = {
    {"_new", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(fast_method<2, new_method>)),
     METH_FASTCALL,
     "_new(self, shape: tuple, dtype: numpy.dtype) -> Array\n\nIts contents are undefined."},
    {"_own", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(fast_method<3, own_method>)),
     METH_FASTCALL,
     "_own(self, call: str, name: str, array: Array) -> None\n\nRefuses one of another backend."},
    {"_read", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(read_method)),
     METH_FASTCALL | METH_KEYWORDS,
     "_read(self, call: str, **given) -> list\n\nThe operands as Arrays of this backend, all "
     "float32 or all float16."},
    {"_result", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(result_method)),
     METH_FASTCALL,
     "_result(self, call: str, out: object, shape: tuple, dtype: numpy.dtype, *inputs) -> "
     "Array\n\nWhere a result goes: `out` if it fits, which must share no buffer with inputs."}};

}  // namespace

void check_own(PyObject* backend, const char* call, const char* name, py::handle array) {
  const ArrayObject* made = array_in(array);
  if (made == nullptr) {
    invalid(call, text(name, " is of type ", Py_TYPE(array.ptr())->tp_name,
                       ", which was never initialised"));
  }
  if (made->backend != backend) {
    invalid(call, text(name, " is an Array of another backend (",
                       std::string(py::repr(made->backend)), ")"));
  }
}

bool all_ready(PyObject* backend, std::span<PyObject* const> given) noexcept {
  const ArrayObject* first = nullptr;
  for (PyObject* one : given) {
    const ArrayObject* array = array_in(one);
    if (array == nullptr || array->backend != backend || array->stored_as == DType::int32) {
      return false;
    }
    if (first == nullptr) first = array;
    if (array->stored_as != first->stored_as) return false;
  }
  return true;
}

py::object read_each(PyObject* backend, const char* call, std::span<const char* const> names,
                     std::span<PyObject* const> given) {
  py::dict named;
  for (std::size_t i = 0; i < given.size(); ++i) named[names[i]] = py::handle(given[i]);
  py::object read =
      call_python(py::handle(backend).attr("_read_each"), py::make_tuple(call), named);
  if (!PyList_CheckExact(read.ptr()) ||
      PyList_GET_SIZE(read.ptr()) != static_cast<Py_ssize_t>(given.size()) ||
      !all_ready(backend, {reinterpret_cast<PyListObject*>(read.ptr())->ob_item, given.size()})) {
    throw py::type_error("_read_each gives one Array for each operand");
  }
  return read;
}

Result::Result(PyObject* backend, const char* call, PyObject* out, py::handle shape, DType dtype,
               std::span<const ArrayObject* const> apart) {
  if (out == Py_None) {
    object_ = new_array(backend, shape, dtype);
    array_ = array_in(object_);
    return;
  }
  if (!is_array(out)) Argument{call, "out"}.refuse(out, "an Array");
  check_own(backend, call, "out", out);
  array_ = array_in(out);
  if (array_->stored_as != dtype ||
      (array_->shape != shape.ptr() && !py::handle(array_->shape).equal(shape))) {
    invalid(call,
            text("out is ", to_string(array_->stored_as), " of shape ", in_words(array_->shape),
                 ", expected ", to_string(dtype), " of shape ", in_words(shape)));
  }
  for (const ArrayObject* input : apart) {
    if (input != nullptr && input->buffer() == array_->buffer()) {
      invalid(call, "out shares its buffer with an input, expected another Array");
    }
  }
  object_ = py::reinterpret_borrow<py::object>(out);
}

bool same_shape(const ArrayObject& a, const ArrayObject& b) {
  return a.shape == b.shape || py::handle(a.shape).equal(py::handle(b.shape));
}

Sizes::Sizes(py::handle shape) : rank(static_cast<std::size_t>(PyTuple_GET_SIZE(shape.ptr()))) {
  for (std::size_t i = 0; i < rank; ++i) {
    values[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape.ptr(), i));
  }
}

py::tuple Sizes::tuple() const {
  py::tuple all(rank);
  for (std::size_t i = 0; i < rank; ++i) all[i] = values[i];
  return all;
}

Sizes broadcast(const char* call, const Sizes& a, const Sizes& b) {
  Sizes shape;
  shape.rank = std::max(a.rank, b.rank);
  for (std::size_t i = 1; i <= shape.rank; ++i) {
    const Size size_a = i <= a.rank ? a[a.rank - i] : 1;
    const Size size_b = i <= b.rank ? b[b.rank - i] : 1;
    if (size_a != size_b && size_a != 1 && size_b != 1) {
      invalid(call, text("a of shape ", in_words(a.tuple()), " and b of shape ",
                         in_words(b.tuple()), " do not broadcast together"));
    }
    shape.values[shape.rank - i] = size_b == 1 ? size_a : size_b;
  }
  return shape;
}

Sizes broadcast_strides(const Sizes& shape, const Sizes& to) {
  Sizes strides;
  strides.rank = to.rank;
  std::fill_n(strides.values.begin(), to.rank, 0);
  Size step = 1;
  for (std::size_t i = 1; i <= shape.rank; ++i) {
    const Size size = shape[shape.rank - i];
    if (size != 1) strides.values[to.rank - i] = step;
    step *= size;
  }
  return strides;
}

void bind_operands(BackendClass& cls) {
  for (PyMethodDef& method : methods) add_method(cls, method);
}

}  // namespace tilewright::bindings
