#include "bindings/array_elementwise.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/array_complex.hpp"
#include "bindings/array_map.hpp"
#include "bindings/deferred.hpp"
#include "bindings/method.hpp"
#include "bindings/python_call.hpp"
#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

/// What reads an operand that is neither an Array nor a number of Python's; for the process.
PyObject* reader = nullptr;

/// Numbers of Python's take the dtype of the others where that is of their kind.
enum class Weak : std::uint8_t { no, boolean, integer, real };

struct Operand {
  const ArrayObject* array = nullptr;
  PyObject* number = nullptr;
  Weak weak = Weak::no;
  DType dtype = DType::float32;  // unless weak
  bool complex = false;          // and so for others to compute with
  py::object kept;
};

const char* name_of(const ElementFunction& f, std::size_t i) { return operand_name(f, i); }

[[noreturn]] void invalid(const ElementFunction& f, const std::string& what) {
  throw InvalidArgument(text(f.name, ": ", what));
}

Weak weak_kind(PyObject* given) {
  if (PyBool_Check(given)) return Weak::boolean;
  if (PyLong_CheckExact(given)) return Weak::integer;
  if (PyFloat_CheckExact(given)) return Weak::real;
  return Weak::no;
}

DType default_of(Weak kind, PyObject* backend) {
  if (kind == Weak::boolean) return DType::boolean;
  if (kind == Weak::real) return default_float;
  return stores(backend, DType::int64) ? DType::int64 : DType::int32;
}

/// False where it is nothing that an operand can be.
bool read(const ElementFunction& f, std::size_t i, PyObject* backend, const ArrayObject& like,
          PyObject* given, Operand& operand) {
  if (is_array(given)) {
    check_own(backend, f.name.data(), name_of(f, i), given);
    operand.array = array_in(given);
    operand.dtype = operand.array->stored_as;
    return true;
  }
  operand.weak = weak_kind(given);
  if (operand.weak != Weak::no) {
    operand.number = given;
    return true;
  }
  operand.kept =
      call_python(reader, py::make_tuple(py::handle(backend), py::str(f.name.data(), f.name.size()),
                                         name_of(f, i), py::handle(given), py::handle(like.dtype)));
  PyObject* found = operand.kept.ptr();
  if (found == Py_NotImplemented) return false;
  operand.complex = is_complex(found);
  if (operand.complex) return true;
  if (const ArrayObject* array = array_in(found)) {
    operand.array = array;
    operand.dtype = array->stored_as;
    return true;
  }
  // (dtype, number) of what has a dtype of its own but no dimension.
  if (!PyTuple_CheckExact(found) || PyTuple_GET_SIZE(found) != 2) {
    throw py::type_error("the reader gives an Array, (dtype, number) or NotImplemented");
  }
  operand.dtype = to_stored_as(PyTuple_GET_ITEM(found, 0), f.name.data());
  operand.number = PyTuple_GET_ITEM(found, 1);
  return true;
}

/// The dtype that operands meet in.
DType meet(const ElementFunction& f, std::span<const Operand> operands, std::size_t first,
           PyObject* backend) {
  std::optional<DType> met;
  std::size_t met_at = first;
  Weak weak = Weak::no;
  for (std::size_t i = first; i < operands.size(); ++i) {
    const Operand& one = operands[i];
    weak = std::max(weak, one.weak);
    if (one.weak != Weak::no) continue;
    if (!met) {
      met = one.dtype;
      met_at = i;
      continue;
    }
    const std::optional<DType> both = promoted(*met, one.dtype);
    if (!both) {
      // The signed one holds what the other mostly has, and the other no negative number.
      const bool is_first = *met == DType::uint64;
      invalid(f, text(name_of(f, met_at), " is ", to_string(*met), " and ", name_of(f, i), " is ",
                      to_string(one.dtype), ", and no dtype holds both; write ",
                      name_of(f, is_first ? met_at : i),
                      ".astype(\"int64\") where its numbers are "
                      "below 2**63"));
    }
    if (*both != *met) met_at = i;
    met = both;
  }
  if (!met) return default_of(weak, backend);
  const Weak kind = *met == DType::boolean ? Weak::boolean
                    : is_integer(*met)     ? Weak::integer
                                           : Weak::real;
  return weak > kind ? default_of(weak, backend) : *met;
}

/// A Python int: its value, and the side on which 64 bits do not hold it.
std::pair<std::int64_t, int> integer_of(PyObject* given) {
  int overflow = 0;
  const std::int64_t value = PyLong_AsLongLongAndOverflow(given, &overflow);
  return {value, overflow};
}

bool fits(PyObject* given, DType dtype) {
  if (!PyLong_Check(given) || !is_integer(dtype)) return true;
  const auto [value, overflow] = integer_of(given);
  if (overflow > 0 && dtype == DType::uint64) {
    PyLong_AsUnsignedLongLong(given);
    if (PyErr_Occurred() == nullptr) return true;
    forget_error();
    return false;
  }
  return holds(dtype, value, overflow);
}

Number number_of(const ElementFunction& f, std::size_t i, PyObject* given, DType dtype) {
  if (dtype == DType::boolean) return Number(PyObject_IsTrue(given) == 1);
  if (!fits(given, dtype)) {
    invalid(f, text(name_of(f, i), " is ", shown(given), ", which ", to_string(dtype),
                    " does not hold"));
  }
  if (PyBool_Check(given)) return Number(std::int64_t{given == Py_True});
  if (PyLong_Check(given) && !is_float(dtype)) {
    const auto [value, overflow] = integer_of(given);
    if (overflow == 0) return Number(value);
    return Number(std::uint64_t{PyLong_AsUnsignedLongLong(given)});
  }
  return Number(to_double(given, {f.name.data(), name_of(f, i)}));
}

bool is_comparison(const ElementFunction& f) {
  return f.rule == Rule::equality || f.rule == Rule::order;
}

/// What comparing any element with a number beyond its dtype gives.
bool beyond(const ElementFunction& f, bool number_first, PyObject* number) {
  const bool above = integer_of(number).second > 0 || integer_of(number).first > 0;
  if (f.name == "equal") return false;
  if (f.name == "not_equal") return true;
  const bool less = f.name.starts_with("less");
  return less == (above != number_first);
}

py::tuple shape_tuple(const Sizes& shape, std::span<const Operand> operands) {
  for (const Operand& one : operands) {
    if (one.array == nullptr) continue;
    const Sizes own(one.array->shape);
    if (std::ranges::equal(own.span(), shape.span())) {
      return py::reinterpret_borrow<py::tuple>(one.array->shape);
    }
  }
  return shape.tuple();
}

/// Adds what helps where the device lacks a dtype that no operand has.
template <class F>
void with_hint(const ElementFunction& f, std::span<const Operand> operands, DType met, F&& run) {
  try {
    run();
  } catch (const Unsupported& error) {
    for (const Operand& one : operands) {
      if (one.weak == Weak::no && one.dtype == met) throw;
    }
    std::string cast;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].array != nullptr && is_float(met) && !is_float(operands[i].dtype)) {
        cast = text("; write ", name_of(f, i), ".astype(\"float32\")");
      }
    }
    throw Unsupported(text(error.what(), "; ", f.name, " of these operands is computed in ",
                           to_string(met), cast));
  }
}

/// `first`: the first operand that is computed with, behind a condition.
ElementCall call_of(const ElementFunction& f, const TypedFunction& how,
                    std::span<const Operand> operands, std::size_t first) {
  ElementCall call{&f, how, {}};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    CallOperand& one = call.operands[i];
    if (const ArrayObject* array = operands[i].array) {
      one.array = array;
      one.kept = py::reinterpret_borrow<py::object>(object_of(*array));
      one.dtype = array->stored_as;
      continue;
    }
    one.dtype = i < first ? DType::boolean : how.computed_in;
    one.number = number_of(f, i, operands[i].number, one.dtype);
    if (is_float(one.dtype)) {
      one.real = PyBool_Check(operands[i].number)
                     ? (operands[i].number == Py_True ? 1.0 : 0.0)
                     : to_double(operands[i].number, {f.name.data(), name_of(f, i)});
    }
  }
  return call;
}

}  // namespace

const char* operand_name(const ElementFunction& f, std::size_t i) {
  static constexpr const char* one[] = {"x"};
  static constexpr const char* two[] = {"x1", "x2"};
  static constexpr const char* where[] = {"condition", "x1", "x2"};
  static constexpr const char* clip[] = {"x", "min", "max"};
  if (f.operands == 1) return one[i];
  if (f.operands == 2) return two[i];
  return f.rule == Rule::choice ? where[i] : clip[i];
}

bool stores(PyObject* backend, DType dtype) {
  // Of the backend that was asked last, since nearly all calls are for one.
  static std::weak_ptr<Backend> last;
  static std::uint32_t stored = 0;
  const std::shared_ptr<Backend>* const owner = holder_of<Backend>(backend);
  if (owner == nullptr) throw py::type_error("the backend was never initialised");
  if (last.owner_before(*owner) || owner->owner_before(last)) {
    std::uint32_t all = 0;
    for (const DType one : (*owner)->capabilities().storage_dtypes) {
      all |= 1U << static_cast<unsigned>(one);
    }
    last = *owner;
    stored = all;
  }
  return (stored >> static_cast<unsigned>(dtype) & 1) != 0;
}

bool is_number(PyObject* given) { return weak_kind(given) != Weak::no; }

py::object evaluate(const ElementFunction& f, std::span<PyObject* const> given, PyObject* out) {
  if (std::ranges::any_of(given, is_complex) || (out != nullptr && is_complex(out))) {
    return evaluate_complex(f, given, out);
  }
  const ArrayObject* like = nullptr;
  for (PyObject* one : given) {
    if ((like = array_in(one)) != nullptr) break;
  }
  if (like == nullptr) {
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (is_array(given[i])) check_own(nullptr, f.name.data(), name_of(f, i), given[i]);
    }
    invalid(f, text(name_of(f, 0), " is ", shown(given[0]),
                    ", expected an Array; write tw.asarray(", name_of(f, 0), ")"));
  }
  PyObject* const backend = like->backend;
  std::array<Operand, most_operands> all;
  const std::span<Operand> operands(all.data(), given.size());
  Sizes shape;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!read(f, i, backend, *like, given[i], operands[i])) {
      return py::reinterpret_borrow<py::object>(Py_NotImplemented);
    }
    if (operands[i].complex) {
      std::array<PyObject*, most_operands> with_read;
      std::copy(given.begin(), given.end(), with_read.begin());
      with_read[i] = operands[i].kept.ptr();
      return evaluate_complex(f, std::span(with_read).first(given.size()), out);
    }
    if (operands[i].array != nullptr) {
      shape = shape.rank == 0 ? Sizes(operands[i].array->shape)
                              : broadcast(f.name.data(), shape, Sizes(operands[i].array->shape));
    }
  }
  const std::size_t first = f.rule == Rule::choice ? 1 : 0;
  DType met = DType::boolean;
  if (f.rule != Rule::logic) met = meet(f, operands, first, backend);
  const std::optional<TypedFunction> how = typed(f, met);
  if (!how) {
    const bool is_bool = met == DType::boolean;
    invalid(f, text(name_of(f, first), " is ", to_string(met), ", expected ",
                    f.rule == Rule::arithmetic ? "numbers"
                    : f.rule == Rule::shift    ? "integers"
                                               : "integers or bool",
                    is_bool ? "; write .astype(\"int32\")" : ""));
  }
  const py::tuple result_shape = shape_tuple(shape, operands);
  const bool given_out = out != nullptr && out != Py_None;
  if (given_out) {
    if (!is_array(out))
      Argument{f.name.data(), "out"}.refuse(
          out, "an Array; x.numpy() gives the operands of what is computed on the host");
    check_own(backend, f.name.data(), "out", out);
    const ArrayObject& target = *array_in(out);
    if (!result_shape.equal(py::handle(target.shape))) {
      invalid(f, text("out has shape ", std::string(py::str(target.shape)), ", expected ",
                      std::string(py::str(result_shape))));
    }
    if (!same_kind(how->result, target.stored_as)) {
      invalid(f, text("out is ", to_string(target.stored_as), ", but the result is ",
                      to_string(how->result), "; write out[...] = ... to cast it"));
    }
  }
  const auto new_result = [&] {
    return given_out ? py::reinterpret_borrow<py::object>(out)
                     : new_array(backend, result_shape, how->result);
  };
  if (is_comparison(f) && is_integer(met)) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Operand& one = operands[i];
      if (one.number == nullptr || fits(one.number, met)) continue;
      const std::array<Number, 1> all_alike{Number(beyond(f, i == 0, one.number))};
      py::object result = new_result();
      const ArrayObject& to = *array_in(result);
      make_writable(to, f.name.data());
      map_arrays(cast_program(DType::boolean, to.stored_as, true), {}, all_alike, to);
      return result;
    }
  }
  ElementCall call = call_of(f, *how, operands, first);
  for (const CallOperand& one : call.given()) {
    // One that is broadcast is computed once, not for each element of the result.
    if (one.array != nullptr && one.array->deferred != nullptr &&
        !result_shape.equal(py::handle(one.array->shape))) {
      compute(*one.array);
    }
  }
  if (!given_out && defers(backend_of(backend), call, elements_of("empty", result_shape))) {
    return defer(std::move(call), backend, result_shape);
  }
  py::object result = new_result();
  with_hint(f, operands, met, [&] { compute_into(call, *array_in(result)); });
  return result;
}

Number assigned_number(PyObject* number, DType dtype) {
  static const ElementFunction& copy = *element_function("positive");
  py::object whole;
  if (PyFloat_Check(number) && is_integer(dtype)) {
    // As int() does, which refuses what is no number.
    whole = py::reinterpret_steal<py::object>(PyNumber_Long(number));
    if (!whole) throw py::error_already_set();
    number = whole.ptr();
  }
  if (!fits(number, dtype)) {
    throw InvalidArgument(text("assignment: value is ", shown(number), ", which ", to_string(dtype),
                               " does not hold"));
  }
  return number_of(copy, 0, number, dtype);
}

void assign(const ArrayObject& target, PyObject* value) {
  static const ElementFunction& copy = *element_function("positive");
  constexpr const char* call = "assignment";
  if (target.is_complex || is_complex(value)) return assign_complex(target, value);
  Operand operand;
  const DType dtype = target.stored_as;
  if (!read(copy, 0, target.backend, target, value, operand)) {
    Argument{call, "value"}.refuse(value, "an Array, a number, or what reads as an array");
  }
  if (operand.complex) return assign_complex(target, operand.kept.ptr());
  make_writable(target, call);
  if (operand.number != nullptr) {
    const std::array<Number, 1> all_alike{assigned_number(operand.number, dtype)};
    map_arrays(cast_program(dtype, dtype, true), {}, all_alike, target);
    return;
  }
  const ArrayObject* source = operand.array;
  Sizes shape(source->shape);
  const Sizes to(target.shape);
  py::object fewer;
  if (shape.rank > to.rank) {
    // Leading dimensions of one element, as NumPy allows them.
    const std::size_t more = shape.rank - to.rank;
    Sizes strides = strides_of(*source);
    bool one = true;
    for (std::size_t i = 0; i < more; ++i) one = one && shape[i] == 1;
    if (one) {
      for (std::size_t i = 0; i < to.rank; ++i) {
        shape.values[i] = shape.values[i + more];
        strides.values[i] = strides.values[i + more];
      }
      shape.rank = strides.rank = to.rank;
      fewer = new_view(*source, shape.tuple(), strides.span(), source->offset);
      source = array_in(fewer);
    }
  }
  bool fits_shape = shape.rank <= to.rank;
  for (std::size_t i = 1; fits_shape && i <= shape.rank; ++i) {
    fits_shape = shape[shape.rank - i] == 1 || shape[shape.rank - i] == to[to.rank - i];
  }
  if (!fits_shape) {
    throw InvalidArgument(text(call, ": value of shape ", std::string(py::str(source->shape)),
                               " does not broadcast to ", std::string(py::str(target.shape))));
  }
  const std::array<const ArrayObject*, 1> from{source};
  map_arrays(cast_program(source->stored_as, dtype), from, {}, target);
}

void bind_array_elementwise(py::module_& m) {
  m.def(
      "_set_reader", [](const py::object& function) { reader = function.inc_ref().ptr(); },
      py::arg("function"), "What reads operands that are neither Arrays nor numbers.");
}

}  // namespace tilewright::bindings
