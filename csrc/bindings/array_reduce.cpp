#include "bindings/array_reduce.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "bindings/array_elementwise.hpp"
#include "bindings/array_map.hpp"
#include "bindings/array_rules.hpp"
#include "bindings/deferred.hpp"
#include "bindings/method.hpp"
#include "bindings/operands.hpp"
#include "tilewright/error.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

using enum DType;

/// What comes of the elements, and by which dtypes.
enum class Gives : std::uint8_t { total, extreme, mean, truth, place, count };

struct ArrayReduction {
  const char* name;
  Reduction op;
  Gives gives;
};

constexpr ArrayReduction reductions[] = {
    {"sum", Reduction::sum, Gives::total},       {"prod", Reduction::prod, Gives::total},
    {"max", Reduction::max, Gives::extreme},     {"min", Reduction::min, Gives::extreme},
    {"mean", Reduction::sum, Gives::mean},       {"any", Reduction::any, Gives::truth},
    {"all", Reduction::all, Gives::truth},       {"argmax", Reduction::argmax, Gives::place},
    {"argmin", Reduction::argmin, Gives::place}, {"count_nonzero", Reduction::sum, Gives::count},
};

bool is_unsigned(DType dtype) {
  return dtype == uint8 || dtype == uint16 || dtype == uint32 || dtype == uint64;
}

DType default_integer(PyObject* backend) { return stores(backend, int64) ? int64 : int32; }

/// A program of two dtypes, made once.
template <class Make>
const Program& kept_program(std::unordered_map<unsigned, Program>& kept, DType from, DType to,
                            Make make) {
  const unsigned key = static_cast<unsigned>(from) * 16 + static_cast<unsigned>(to);
  const auto found = kept.find(key);
  if (found != kept.end()) return found->second;
  Program program;
  make(program);
  return kept.emplace(key, std::move(program)).first->second;
}

const Program& quotient(DType from, DType to) {
  static auto& kept = *new std::unordered_map<unsigned, Program>();
  return kept_program(kept, from, to, [&](Program& p) {
    const Program::Value sum = p.input(from);
    p.output(p.cast(p.apply("div", std::array{sum, p.number(from)}), to));
  });
}

const Program& truth_as(DType from, DType to) {
  static auto& kept = *new std::unordered_map<unsigned, Program>();
  return kept_program(kept, from, to,
                      [&](Program& p) { p.output(p.cast(p.cast(p.input(from), boolean), to)); });
}

/// The programs in front and behind, and the dtype of the results.
struct Programs {
  const Program* front;
  const Program* behind = nullptr;
  DType result;
};

/// False for a dtype that the device lacks.
bool choose(const ArrayReduction& how, const ArrayObject& x, Programs& programs) {
  const DType dtype = x.stored_as;
  switch (how.gives) {
    case Gives::total: {
      DType wanted = dtype;
      if (!is_float(dtype)) {
        wanted = default_integer(x.backend);
        if (is_unsigned(dtype)) wanted = wanted == int64 ? uint64 : uint32;
        if (!stores(x.backend, wanted)) return false;
      }
      programs = {&cast_program(dtype, wanted), nullptr, wanted};
      return true;
    }
    case Gives::extreme:
      programs = {&cast_program(dtype, dtype), nullptr, dtype};
      return true;
    case Gives::mean: {
      const DType within = dtype == float64 ? float64 : float32;
      const DType result = is_float(dtype) ? dtype : float32;
      programs = {&cast_program(dtype, within), &quotient(within, result), result};
      return true;
    }
    case Gives::truth:
      programs = {&cast_program(dtype, boolean), nullptr, boolean};
      return true;
    case Gives::place: {
      const DType wanted = default_integer(x.backend);
      programs = {&cast_program(dtype, dtype), &cast_program(wanted, wanted), wanted};
      return true;
    }
    case Gives::count: {
      const DType wanted = default_integer(x.backend);
      programs = {&truth_as(dtype, wanted), nullptr, wanted};
      return true;
    }
  }
  return false;
}

/// What is reduced, and what is left.
struct Walk {
  Sizes axes, left;
};

/// Marks an axis as one that is reduced; false for what is none, or is marked already.
bool mark(PyObject* axis, const Sizes& shape, std::array<bool, max_rank>& gone) {
  if (!PyLong_CheckExact(axis)) return false;
  const auto rank = static_cast<long>(shape.rank);
  int overflow = 0;
  const long at = PyLong_AsLongAndOverflow(axis, &overflow);
  if (overflow != 0 || at < -rank || at >= rank) return false;
  return !std::exchange(gone[static_cast<std::size_t>(at < 0 ? at + rank : at)], true);
}

/// False where the arguments are to be looked at more closely.
bool walk_of(const ArrayObject& x, PyObject* axis, PyObject* keepdims, Walk& walk) {
  if (!PyBool_Check(keepdims)) return false;
  const bool keeps = keepdims == Py_True;
  const Sizes shape(x.shape);
  std::array<bool, max_rank> gone{};
  if (axis == Py_None) {
    gone.fill(true);
  } else if (PyTuple_CheckExact(axis)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(axis); ++i) {
      if (!mark(PyTuple_GET_ITEM(axis, i), shape, gone)) return false;
    }
  } else if (!mark(axis, shape, gone)) {
    return false;
  }
  for (std::size_t i = 0; i < shape.rank; ++i) {
    if (gone[i]) walk.axes.values[walk.axes.rank++] = static_cast<Size>(i);
    if (!gone[i] || keeps) walk.left.values[walk.left.rank++] = gone[i] ? 1 : shape[i];
  }
  return true;
}

void reduce(const ArrayObject& x, Reduction op, const Programs& programs,
            std::span<const Size> axes, std::span<const Number> numbers, const ArrayObject& to) {
  if (x.deferred != nullptr &&
      reduce_waiting(x, *programs.front, op, axes, to, programs.behind, numbers)) {
    return;
  }
  const Memory from = x.memory();
  const Sizes shape(x.shape), strides = strides_of(x);
  const MapOperand input{from->buffer(),
                         x.is_contiguous() ? std::span<const Size>() : strides.span(), x.offset};
  const MapOperand output(to.filled->buffer());
  Backend& backend = *from->backend();
  without_gil([&] {
    backend.map_reduce(*programs.front, op, shape.span(), axes, {&input, 1}, {}, {&output, 1},
                       programs.behind, {}, numbers);
  });
}

/// name(x, axis, keepdims): None where this is not the common form, or an error that Python words.
py::object reduced(const ArrayReduction& how, std::span<PyObject* const> given) {
  const ArrayObject* const x = array_in(given[0]);
  Walk walk;
  Programs programs{};
  if (how.gives == Gives::place && PyTuple_Check(given[1])) return py::none();
  if (x == nullptr || x->size == 0 || !walk_of(*x, given[1], given[2], walk) ||
      !choose(how, *x, programs)) {
    return py::none();
  }
  py::object result = new_array(x->backend, walk.left.tuple(), programs.result);
  const ArrayObject& to = *array_in(result);
  const std::array<Number, 1> count{static_cast<double>(x->size / to.size)};
  const std::size_t numbers = how.gives == Gives::mean ? 1 : 0;
  reduce(*x, how.op, programs, walk.axes.span(), std::span(count).first(numbers), to);
  return result;
}

template <std::size_t index>
PyObject* call_reduction(PyObject*, PyObject* const* given, Py_ssize_t number) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    if (number != 3) throw py::type_error("expected x, axis and keepdims");
    return reduced(reductions[index], {given, 3}).release().ptr();
  });
}

template <std::size_t... index>
auto thunks(std::index_sequence<index...>) {
  return std::array{call_reduction<index>...};
}

}  // namespace

void bind_array_reduce(py::module_& m) {
  m.def(
      "_reductions",
      [] {
        constexpr std::size_t count = std::size(reductions);
        static const auto calls = thunks(std::make_index_sequence<count>());
        static std::array<PyMethodDef, count> definitions;
        py::dict made;
        for (std::size_t i = 0; i < count; ++i) {
          definitions[i] = {reductions[i].name,
                            reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(calls[i])),
                            METH_FASTCALL, nullptr};
          made[reductions[i].name] = py::reinterpret_steal<py::object>(
              PyCFunction_NewEx(&definitions[i], nullptr, nullptr));
        }
        return made;
      },
      "The reductions of Arrays by name, called with (x, axis, keepdims): None where x, axis or "
      "keepdims is not of the common kind, or wrong.");
}

}  // namespace tilewright::bindings
