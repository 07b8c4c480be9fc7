#include "bindings/array_complex.hpp"

#include <array>
#include <map>
#include <utility>

#include "bindings/array_arguments.hpp"
#include "bindings/array_map.hpp"
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
PyObject* programmer = nullptr;

const ArrayObject& complex_array(PyObject* self) {
  const ArrayObject* array = any_array_in(self);
  if (array == nullptr || !array->is_complex) throw py::type_error("expected a complex Array");
  return *array;
}

/// The strides in parts.
Sizes doubled(const ArrayObject& array) {
  Sizes strides = strides_of(array);
  for (std::size_t i = 0; i < strides.rank; ++i) strides.values[i] *= 2;
  return strides;
}

void check_room(const Sizes& shape) {
  if (shape.rank < max_rank) return;
  throw Unsupported(text("complex Arrays have at most ", max_rank - 1,
                         " dimensions here, this has ", shape.rank, "; reshape it"));
}

}  // namespace

namespace {

/// A function of complex Arrays of one dtype as a program of their parts, and what it gives.
struct PartsProgram {
  py::object kept;
  const Program* program = nullptr;  ///< null where Python has another way
  ArrayDType result{};
};

const PartsProgram& parts_program(const ElementFunction& function, const ArrayObject& like) {
  static auto& kept = *new std::map<std::pair<const ElementFunction*, DType>, PartsProgram>();
  const auto key = std::pair(&function, like.stored_as);
  const auto found = kept.find(key);
  if (found != kept.end()) return found->second;
  PartsProgram made;
  made.kept =
      call_python(programmer, py::make_tuple(py::str(function.name.data(), function.name.size()),
                                             py::handle(like.dtype), int{function.operands}));
  if (!made.kept.is_none()) {
    made.program = instance_of<Program>(PyTuple_GET_ITEM(made.kept.ptr(), 0));
    made.result = known_dtype(PyTuple_GET_ITEM(made.kept.ptr(), 1)).value();
  }
  return kept.emplace(key, std::move(made)).first->second;
}

/// The common form: complex Arrays of one backend, dtype and shape. None for any other.
py::object evaluate_alike(const ElementFunction& function, std::span<PyObject* const> given) {
  std::array<const ArrayObject*, most_operands> arrays;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const ArrayObject* const one = any_array_in(given[i]);
    const bool is_alike =
        one != nullptr && one->is_complex &&
        (i == 0 || (one->stored_as == arrays[0]->stored_as && one->backend == arrays[0]->backend &&
                    same_shape(*one, *arrays[0])));
    if (!is_alike) return {};
    arrays[i] = one;
  }
  const PartsProgram& how = parts_program(function, *arrays[0]);
  if (how.program == nullptr) return {};
  const ArrayObject& first = *arrays[0];
  py::object result =
      new_array(first.backend, first.shape, how.result.stored_as, how.result.is_complex);
  const ArrayObject& to = *any_array_in(result);
  const Sizes shape(first.shape);
  std::array<Memory, most_operands> memories;
  std::array<Sizes, most_operands> strides;
  std::array<MapOperand, 2 * most_operands> inputs;
  for (std::size_t i = 0; i < given.size(); ++i) {
    memories[i] = arrays[i]->memory();
    strides[i] = doubled(*arrays[i]);
    for (std::size_t part = 0; part < 2; ++part) {
      inputs[2 * i + part] = {memories[i]->buffer(), strides[i].span(),
                              2 * arrays[i]->offset + static_cast<Size>(part)};
    }
  }
  const Sizes own = how.result.is_complex ? doubled(to) : strides_of(to);
  const std::array<MapOperand, 2> outputs{MapOperand{to.filled->buffer(), own.span(), 0},
                                          MapOperand{to.filled->buffer(), own.span(), 1}};
  Backend& backend = *to.filled->backend();
  without_gil([&] {
    backend.map(*how.program, shape.span(), std::span(inputs).first(2 * given.size()), {},
                std::span(outputs).first(how.result.is_complex ? 2 : 1));
  });
  return result;
}

}  // namespace

bool is_complex(PyObject* given) noexcept {
  if (const ArrayObject* array = any_array_in(given)) return array->is_complex;
  return PyComplex_Check(given) != 0;
}

py::object evaluate_complex(const ElementFunction& function, std::span<PyObject* const> given,
                            PyObject* out) {
  if (out == nullptr || out == Py_None) {
    if (py::object found = evaluate_alike(function, given)) return found;
  }
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
  Sizes shape(array.shape), strides = doubled(array);
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
    const Sizes strides = doubled(array);
    return new_view(array, array.shape, strides.span(), 2 * array.offset + part, false)
        .release()
        .ptr();
  });
}

PyObject* paired_method(PyObject* self, PyObject*) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    constexpr const char* call = "_paired";
    const ArrayObject* array = array_in(self);
    if (array == nullptr ||
        (array->stored_as != DType::float32 && array->stored_as != DType::float64)) {
      Argument{call, "self"}.refuse(self, "an Array of float32 or float64");
    }
    Sizes shape(array->shape), strides = strides_of(*array);
    bool fits = shape.rank > 0 && shape[shape.rank - 1] == 2 &&
                (array->size == 0 || (strides[strides.rank - 1] == 1 && array->offset % 2 == 0));
    for (std::size_t i = 0; i + 1 < shape.rank; ++i) {
      fits = fits && (array->size == 0 || shape[i] == 1 || strides[i] % 2 == 0);
      strides.values[i] /= 2;
    }
    if (!fits) Argument{call, "self"}.refuse(self, "pairs along the last axis");
    --shape.rank;
    --strides.rank;
    return new_view(*array, shape.tuple(), strides.span(), array->offset / 2, true).release().ptr();
  });
}

void bind_array_complex(py::module_& m) {
  m.def(
      "_set_complex",
      [](const py::object& evaluate, const py::object& assign, const py::object& program_of) {
        evaluator = evaluate.inc_ref().ptr();
        assigner = assign.inc_ref().ptr();
        programmer = program_of.inc_ref().ptr();
      },
      py::arg("evaluate"), py::arg("assign"), py::arg("program_of"),
      "What computes and assigns complex elements, and the programs of their parts.");
}

}  // namespace tilewright::bindings
