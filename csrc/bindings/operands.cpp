#include "bindings/operands.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "bindings/array_map.hpp"
#include "bindings/array_rules.hpp"
#include "bindings/deferred.hpp"
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
  if (const auto parts = parts_of(given[1])) return new_array(self, given[0], *parts, true);
  return new_array(self, given[0], to_stored_as(given[1], "empty"));
}

py::object own_method(PyObject* self, Arguments given) {
  check_backend(self, characters(given[0]), characters(given[1]), given[2]);
  return py::none();
}

/// _read(call, **given)
template <Layout layout>
PyObject* read_method(PyObject* self, PyObject* const* given, Py_ssize_t number,
                      PyObject* keywords) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    if (number != 1 || keywords == nullptr) throw py::type_error("expected operands by name");
    const auto count = static_cast<std::size_t>(PyTuple_GET_SIZE(keywords));
    const Arguments operands(given + 1, count);
    py::object read;
    if (!all_ready(self, operands)) {
      std::vector<const char*> names;
      for (std::size_t i = 0; i < count; ++i) {
        names.push_back(characters(PyTuple_GET_ITEM(keywords, i)));
      }
      read = read_each(self, characters(given[0]), names, operands);
    }
    py::list arrays(count);
    for (std::size_t i = 0; i < count; ++i) {
      PyObject* found = read ? PyList_GET_ITEM(read.ptr(), i) : operands[i];
      const ArrayObject* array = array_in(found);
      py::object one =
          lies_in(*array, layout) ? py::reinterpret_borrow<py::object>(found) : copied(*array);
      PyList_SET_ITEM(arrays.ptr(), static_cast<Py_ssize_t>(i), one.release().ptr());
    }
    return arrays.release().ptr();
  });
}

/// _result(call, out, shape, dtype, *inputs)
template <Layout layout>
PyObject* result_method(PyObject* self, PyObject* const* given, Py_ssize_t number) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    constexpr Py_ssize_t fixed = 4, most_inputs = 8;
    if (number < fixed || number > fixed + most_inputs) {
      throw py::type_error("expected call, out, shape, dtype and up to 8 inputs");
    }
    std::array<const ArrayObject*, most_inputs> inputs;
    for (Py_ssize_t i = fixed; i < number; ++i) inputs[i - fixed] = array_in(given[i]);
    const char* call = characters(given[0]);
    if (const ArrayObject* out = array_in(given[1]); out != nullptr && !lies_in(*out, layout)) {
      invalid(call, layout == Layout::rows
                        ? "out has rows with gaps or backwards, expected an Array of whole rows"
                        : "out does not lie row by row in its memory, expected an Array that does");
    }
    Result result(self, call, given[1], given[2], to_stored_as(given[3], call),
                  std::span(inputs).first(static_cast<std::size_t>(number - fixed)), layout);
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
    {"_read",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(read_method<Layout::contiguous>)),
     METH_FASTCALL | METH_KEYWORDS,
     "_read(self, call: str, **given) -> list\n\nThe operands as Arrays of this backend, all "
     "float32 or all float16."},
    {"_read_rows",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(read_method<Layout::rows>)),
     METH_FASTCALL | METH_KEYWORDS,
     "_read_rows(self, call: str, **given) -> list\n\nThe same for ops that take strides between "
     "rows."},
    {"_result",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(result_method<Layout::contiguous>)),
     METH_FASTCALL,
     "_result(self, call: str, out: object, shape: tuple, dtype: numpy.dtype, *inputs) -> "
     "Array\n\nWhere a result goes: `out` if it fits, which must share no buffer with inputs."},
    {"_result_rows",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(result_method<Layout::rows>)),
     METH_FASTCALL,
     "_result_rows(self, call: str, out: object, shape: tuple, dtype: numpy.dtype, *inputs) -> "
     "Array\n\nThe same for ops that take strides between rows."}};

}  // namespace

void check_own(PyObject* backend, const char* call, const char* name, py::handle array) {
  check_backend(backend, call, name, array);
  if (any_array_in(array)->is_complex) {
    invalid(call, text(name, " is ", in_words(any_array_in(array)->dtype),
                       ", expected real numbers; give ", name, ".real and ", name, ".imag"));
  }
}

void check_backend(PyObject* backend, const char* call, const char* name, py::handle array) {
  const ArrayObject* made = any_array_in(array);
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
    if (array == nullptr || array->backend != backend ||
        (array->stored_as != DType::float32 && array->stored_as != DType::float16)) {
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
               std::span<const ArrayObject* const> apart, Layout layout) {
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
    if (input != nullptr && overlap(*input, *array_)) {
      invalid(call, "out shares its buffer with an input, expected another Array");
    }
  }
  object_ = py::reinterpret_borrow<py::object>(out);
  make_writable(*array_, call);
  if (lies_in(*array_, layout)) return;
  // The op may read what it adds to.
  spread_ = std::exchange(object_, copied(*array_));
  array_ = array_in(object_);
}

py::object Result::release() {
  if (!spread_) return std::move(object_);
  const std::array<const ArrayObject*, 1> from{array_};
  map_arrays(cast_program(array_->stored_as, array_->stored_as), from, {}, *array_in(spread_));
  return std::move(spread_);
}

bool lies_in(const ArrayObject& array, Layout layout) {
  if (layout == Layout::any || array.is_contiguous()) return true;
  if (layout == Layout::contiguous) return false;
  const Sizes shape(array.shape);
  for (std::size_t i = 0; i < shape.rank; ++i) {
    const Size step = array.steps[i];
    if (shape[i] > 1 && (i + 1 == shape.rank ? step != 1 : step < 0)) return false;
  }
  return true;
}

const ArrayObject* contiguous(const ArrayObject* array, py::object& kept) {
  if (array->is_contiguous()) return array;
  kept = copied(*array);
  return any_array_in(kept);
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
