#include "bindings/complex_call.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "bindings/array_arguments.hpp"
#include "bindings/array_complex.hpp"
#include "bindings/array_elementwise.hpp"
#include "bindings/array_map.hpp"
#include "bindings/deferred.hpp"
#include "bindings/noted_call.hpp"
#include "bindings/python_call.hpp"
#include "bindings/self.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

// Python's, for the process.
PyObject* programmer = nullptr;

// Powers up to here are products.
constexpr long most_squarings = 64;

struct PartsOperand {
  const ArrayObject* array = nullptr;  ///< null of a number
  Py_complex number{};
  bool is_complex = false;
};

struct PartsOperands {
  std::array<PartsOperand, most_operands> all;
  std::size_t count = 0;
  const ArrayObject* like = nullptr;

  std::span<const PartsOperand> span() const { return {all.data(), count}; }
};

/// A program of the parts, and what it gives.
struct PartsProgram {
  py::object kept;
  const Program* program = nullptr;  ///< null where Python has another way
  ArrayDType result{};
};

bool read_number(PyObject* given, PartsOperand& operand) {
  operand.is_complex = PyComplex_CheckExact(given) != 0;
  if (operand.is_complex) {
    operand.number = PyComplex_AsCComplex(given);
    return true;
  }
  if (PyFloat_CheckExact(given)) {
    operand.number.real = PyFloat_AS_DOUBLE(given);
    return true;
  }
  if (!PyLong_CheckExact(given)) return false;
  operand.number.real = PyLong_AsDouble(given);
  if (operand.number.real != -1.0 || PyErr_Occurred() == nullptr) return true;
  forget_error();
  return false;
}

/// Arrays whose parts are of one backend and dtype, and numbers.
std::optional<PartsOperands> read(std::span<PyObject* const> given) {
  PartsOperands read;
  for (PyObject* const one : given) {
    PartsOperand& operand = read.all[read.count++];
    operand.array = any_array_in(one);
    if (operand.array == nullptr) {
      if (!read_number(one, operand)) return std::nullopt;
      continue;
    }
    const ArrayObject& array = *operand.array;
    operand.is_complex = array.is_complex;
    if (array.stored_as != DType::float32 && array.stored_as != DType::float64) return std::nullopt;
    if (read.like == nullptr) read.like = &array;
    if (array.stored_as != read.like->stored_as || array.backend != read.like->backend) {
      return std::nullopt;
    }
  }
  if (read.like == nullptr) return std::nullopt;
  return read;
}

/// The shape that all broadcast to.
std::optional<Sizes> common_shape(std::span<const PartsOperand> operands) {
  Sizes shape;
  for (const PartsOperand& one : operands) {
    if (one.array == nullptr) continue;
    const Sizes own(one.array->shape);
    for (; shape.rank < own.rank; ++shape.rank) {
      std::copy_backward(shape.values.begin(), shape.values.begin() + shape.rank,
                         shape.values.begin() + shape.rank + 1);
      shape.values[0] = 1;
    }
    for (std::size_t i = 1; i <= own.rank; ++i) {
      Size& size = shape.values[shape.rank - i];
      const Size other = own[own.rank - i];
      if (size == 1) size = other;
      if (other != 1 && other != size) return std::nullopt;
    }
  }
  return shape;
}

/// Whether it is the same of both parts: one real function of all of them.
bool is_by_parts(const ElementFunction& function, std::span<const PartsOperand> operands) {
  static const ElementFunction* const alike[] = {
      element_function("add"), element_function("subtract"), element_function("negative"),
      element_function("positive")};
  static const ElementFunction* const multiply = element_function("multiply");
  static const ElementFunction* const divide = element_function("divide");
  const auto is_pairs = [](const PartsOperand& one) {
    return one.array != nullptr && one.is_complex;
  };
  const auto is_real = [](const PartsOperand& one) {
    return one.array == nullptr && !one.is_complex;
  };
  if (std::ranges::find(alike, &function) != std::end(alike)) {
    return std::ranges::all_of(operands, is_pairs);
  }
  if (&function != multiply && &function != divide) return false;
  const PartsOperand &a = operands[0], &b = operands[1];
  return (is_pairs(a) && is_real(b)) || (&function == multiply && is_real(a) && is_pairs(b));
}

/// None where there is no room for a dimension of the parts.
py::object by_parts(const ElementFunction& function, std::span<const PartsOperand> operands,
                    std::span<PyObject* const> given, PyObject* out) {
  std::array<py::object, most_operands> parts;
  std::array<PyObject*, most_operands> real;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].array == nullptr) {
      real[i] = given[i];
      continue;
    }
    if (PyTuple_GET_SIZE(operands[i].array->shape) >= static_cast<Py_ssize_t>(max_rank)) return {};
    parts[i] = parts_view(*operands[i].array);
    real[i] = parts[i].ptr();
  }
  const py::object target = out == nullptr ? py::object() : parts_view(*any_array_in(out));
  const py::object result =
      evaluate(function, std::span(real).first(operands.size()), target.ptr());
  if (out != nullptr) return py::reinterpret_borrow<py::object>(out);
  return paired(*array_in(result));
}

/// The exponent of a power that is products.
std::optional<long> exponent_of(const ElementFunction& function, std::span<PyObject* const> given) {
  static const ElementFunction* const pow = element_function("pow");
  if (&function != pow || !PyLong_CheckExact(given[1])) return std::nullopt;
  int overflow = 0;
  const long exponent = PyLong_AsLongAndOverflow(given[1], &overflow);
  if (overflow != 0 || std::labs(exponent) > most_squarings) return std::nullopt;
  return exponent;
}

const PartsProgram& parts_program(const ElementFunction& function, const PartsOperands& operands,
                                  std::optional<long> exponent) {
  using Key = std::tuple<const ElementFunction*, DType, unsigned, long>;
  static auto& kept = *new std::map<Key, PartsProgram>();
  unsigned kinds = 1;
  for (const PartsOperand& one : operands.span()) {
    kinds = kinds << 2 | (one.is_complex ? 2U : 0U) | (one.array == nullptr ? 1U : 0U);
  }
  const DType parts = operands.like->stored_as;
  const Key key(&function, parts, kinds, exponent.value_or(most_squarings + 1));
  const auto found = kept.find(key);
  if (found != kept.end()) return found->second;
  py::tuple given(operands.count);
  for (std::size_t i = 0; i < operands.count; ++i) {
    const PartsOperand& one = operands.all[i];
    given[i] = py::make_tuple(one.is_complex, one.array == nullptr);
  }
  PartsProgram made;
  made.kept = call_python(programmer,
                          py::make_tuple(py::str(function.name.data(), function.name.size()), given,
                                         parts == DType::float64 ? "float64" : "float32",
                                         exponent ? py::object(py::int_(*exponent)) : py::none()));
  if (!made.kept.is_none()) {
    made.program = instance_of<Program>(PyTuple_GET_ITEM(made.kept.ptr(), 0));
    made.result = known_dtype(PyTuple_GET_ITEM(made.kept.ptr(), 1)).value();
  }
  return kept.emplace(key, std::move(made)).first->second;
}

py::object shape_of(const Sizes& shape, std::span<const PartsOperand> operands) {
  for (const PartsOperand& one : operands) {
    if (one.array != nullptr && std::ranges::equal(Sizes(one.array->shape).span(), shape.span())) {
      return py::reinterpret_borrow<py::object>(one.array->shape);
    }
  }
  return shape.tuple();
}

/// Whether elements may go to it while those of operands are read.
bool may_be_written(const ArrayObject& out, const PartsOperands& operands, const Sizes& shape) {
  const auto meets = [&](const PartsOperand& one) {
    return one.array != nullptr && one.array != &out && overlap(*one.array, out);
  };
  return out.is_complex && out.stored_as == operands.like->stored_as &&
         out.backend == operands.like->backend &&
         std::ranges::equal(Sizes(out.shape).span(), shape.span()) &&
         std::ranges::none_of(operands.span(), meets);
}

}  // namespace

Sizes doubled(Sizes strides) {
  for (std::size_t i = 0; i < strides.rank; ++i) strides.values[i] *= 2;
  return strides;
}

py::object evaluate_parts(const ElementFunction& function, std::span<PyObject* const> given,
                          PyObject* out) {
  std::optional<PartsOperands> found = read(given);
  if (!found) return {};
  PartsOperands& operands = *found;
  if (std::ranges::none_of(operands.span(), &PartsOperand::is_complex)) return {};
  const std::optional<Sizes> shape = common_shape(operands.span());
  if (!shape) return {};
  const ArrayObject* target = nullptr;
  if (out != nullptr) {
    target = any_array_in(out);
    if (target == nullptr || !may_be_written(*target, operands, *shape)) return {};
  }
  if (is_by_parts(function, operands.span())) {
    return by_parts(function, operands.span(), given, out);
  }
  const std::optional<long> exponent = exponent_of(function, given);
  if (exponent) operands.count = 1;
  const PartsProgram& how = parts_program(function, operands, exponent);
  if (how.program == nullptr || (out != nullptr && !how.result.is_complex)) return {};
  py::object result = out != nullptr
                          ? py::reinterpret_borrow<py::object>(out)
                          : new_array(operands.like->backend, shape_of(*shape, operands.span()),
                                      how.result.stored_as, how.result.is_complex);
  const ArrayObject& to = *any_array_in(result);
  if (out != nullptr) make_writable(to, function.name.data());
  std::array<Memory, most_operands> memories;
  std::array<Sizes, most_operands> strides;
  std::array<MapOperand, 2 * most_operands> inputs;
  std::array<Number, 2 * most_operands> numbers{0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
  std::size_t input_count = 0, number_count = 0;
  for (std::size_t i = 0; i < operands.count; ++i) {
    const PartsOperand& one = operands.all[i];
    if (one.array == nullptr) {
      numbers[number_count++] = Number(one.number.real);
      if (one.is_complex) numbers[number_count++] = Number(one.number.imag);
      continue;
    }
    memories[i] = one.array->memory();
    strides[i] = strides_as(*one.array, *shape);
    const Buffer buffer = memories[i]->buffer();
    if (!one.is_complex) {
      inputs[input_count++] = {buffer, strides[i].span(), one.array->offset};
      continue;
    }
    strides[i] = doubled(strides[i]);
    for (Size part = 0; part < 2; ++part) {
      inputs[input_count++] = {buffer, strides[i].span(), 2 * one.array->offset + part};
    }
  }
  const Memory to_memory = to.memory();
  const Sizes own = how.result.is_complex ? doubled(strides_of(to)) : strides_of(to);
  const Size start = how.result.is_complex ? 2 * to.offset : to.offset;
  const std::array<MapOperand, 2> outputs{MapOperand{to_memory->buffer(), own.span(), start},
                                          MapOperand{to_memory->buffer(), own.span(), start + 1}};
  without_gil([&, backend = to_memory->backend()] {
    call_op(*backend, &Backend::map, *how.program, shape->span(),
            std::span(inputs).first(input_count), std::span(numbers).first(number_count),
            std::span(outputs).first(how.result.is_complex ? 2 : 1));
  });
  return result;
}

void set_complex_programs(const py::object& program_of) { programmer = program_of.inc_ref().ptr(); }

}  // namespace tilewright::bindings
