#include "bindings/array_complex.hpp"

#include <array>

#include "bindings/array_arguments.hpp"
#include "bindings/array_map.hpp"
#include "bindings/complex_call.hpp"
#include "bindings/python_call.hpp"
#include "bindings/self.hpp"
#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

// Python's, for the process.
PyObject* evaluator = nullptr;
PyObject* assigner = nullptr;

const ArrayObject& complex_array(PyObject* self) {
  const ArrayObject* array = any_array_in(self);
  if (array == nullptr || !array->is_complex) throw py::type_error("expected a complex Array");
  return *array;
}

void check_room(const Sizes& shape) {
  if (shape.rank < max_rank) return;
  throw Unsupported(text("complex Arrays have at most ", max_rank - 1,
                         " dimensions here, this has ", shape.rank, "; reshape it"));
}

}  // namespace

bool is_complex(PyObject* given) noexcept {
  if (const ArrayObject* array = any_array_in(given)) return array->is_complex;
  return PyComplex_Check(given) != 0;
}

py::object evaluate_complex(const ElementFunction& function, std::span<PyObject* const> given,
                            PyObject* out) {
  if (out == Py_None) out = nullptr;
  if (py::object found = evaluate_parts(function, given, out)) return found;
  py::tuple operands(given.size());
  for (std::size_t i = 0; i < given.size(); ++i) operands[i] = py::handle(given[i]);
  const py::object target = py::reinterpret_borrow<py::object>(out == nullptr ? Py_None : out);
  return call_python(evaluator, py::make_tuple(py::str(function.name.data(), function.name.size()),
                                               operands, target));
}

void assign_complex(const ArrayObject& target, PyObject* value) {
  call_python(assigner, py::make_tuple(py::handle(object_of(target)), py::handle(value)));
}

py::object parts_view(const ArrayObject& array) {
  Sizes shape(array.shape), strides = doubled(strides_of(array));
  check_room(shape);
  shape.values[shape.rank++] = 2;
  strides.values[strides.rank++] = 1;
  return new_view(array, shape.tuple(), strides.span(), 2 * array.offset, false);
}

PyObject* parts_method(PyObject* self, PyObject*) {
  return guarded(static_cast<PyObject*>(nullptr),
                 [&] { return parts_view(complex_array(self)).release().ptr(); });
}

PyObject* part_method(PyObject* self, PyObject* which) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    const ArrayObject& array = complex_array(self);
    const Size part = to_size(which, {"_part", "which"});
    if (part != 0 && part != 1) Argument{"_part", "which"}.refuse(which, "0 or 1");
    const Sizes strides = doubled(strides_of(array));
    return new_view(array, array.shape, strides.span(), 2 * array.offset + part, false)
        .release()
        .ptr();
  });
}

py::object paired(const ArrayObject& array) {
  Sizes shape(array.shape), strides = strides_of(array);
  bool fits = shape.rank > 0 && shape[shape.rank - 1] == 2 &&
              (array.size == 0 || (strides[strides.rank - 1] == 1 && array.offset % 2 == 0));
  for (std::size_t i = 0; i + 1 < shape.rank; ++i) {
    fits = fits && (array.size == 0 || shape[i] == 1 || strides[i] % 2 == 0);
    strides.values[i] /= 2;
  }
  if (!fits) {
    Argument{"_paired", "self"}.refuse(object_of(array), "pairs along the last axis");
  }
  --shape.rank;
  --strides.rank;
  return new_view(array, shape.tuple(), strides.span(), array.offset / 2, true);
}

PyObject* paired_method(PyObject* self, PyObject*) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    const ArrayObject* array = array_in(self);
    if (array == nullptr ||
        (array->stored_as != DType::float32 && array->stored_as != DType::float64)) {
      Argument{"_paired", "self"}.refuse(self, "an Array of float32 or float64");
    }
    return paired(*array).release().ptr();
  });
}

PyObject* conj_method(PyObject* self, PyObject*) {
  static constexpr ElementFunction conj{"conj", {}, Rule::arithmetic, 1};
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    complex_array(self);
    return evaluate_complex(conj, std::array{self}, nullptr).release().ptr();
  });
}

PyObject* angle_method(PyObject* self, PyObject*) {
  static constexpr ElementFunction angle{"angle", {}, Rule::arithmetic, 1};
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    complex_array(self);
    return evaluate_complex(angle, std::array{self}, nullptr).release().ptr();
  });
}

void bind_array_complex(py::module_& m) {
  m.def(
      "_set_complex",
      [](const py::object& evaluate, const py::object& assign, const py::object& program_of) {
        evaluator = evaluate.inc_ref().ptr();
        assigner = assign.inc_ref().ptr();
        set_complex_programs(program_of);
      },
      py::arg("evaluate"), py::arg("assign"), py::arg("program_of"),
      "What computes and assigns complex elements, and the programs of their parts.");
}

}  // namespace tilewright::bindings
