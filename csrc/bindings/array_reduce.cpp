#include "bindings/array_reduce.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

#include "bindings/array_arguments.hpp"
#include "bindings/array_elementwise.hpp"
#include "bindings/array_map.hpp"
#include "bindings/array_rules.hpp"
#include "bindings/deferred.hpp"
#include "bindings/noted_call.hpp"
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

/// What sums are in: floats' own dtype, and of integers the default one of their sign, unless one
/// is given. None for one that the device lacks, and for what cannot be summed in.
std::optional<DType> summed_in(const ArrayObject& x, PyObject* given) {
  DType wanted = x.stored_as;
  if (given != Py_None) {
    const std::optional<DType> found = stored_dtype(x.backend, given);
    return found == boolean ? std::nullopt : found;
  }
  if (is_float(wanted)) return wanted;
  wanted = default_integer(x.backend);
  if (is_unsigned(x.stored_as)) wanted = wanted == int64 ? uint64 : uint32;
  return stores(x.backend, wanted) ? std::optional(wanted) : std::nullopt;
}

/// What means are computed in, and what they are.
DType within_of(DType dtype) { return dtype == float64 ? float64 : float32; }
DType averaged_of(DType dtype) { return is_float(dtype) ? dtype : float32; }

/// False for a dtype that the device lacks, and for one that is given where none is taken.
bool choose(const ArrayReduction& how, const ArrayObject& x, PyObject* given, Programs& programs) {
  const DType dtype = x.stored_as;
  if (given != Py_None && how.gives != Gives::total) return false;
  switch (how.gives) {
    case Gives::total: {
      const std::optional<DType> wanted = summed_in(x, given);
      if (!wanted) return false;
      programs = {&cast_program(dtype, *wanted), nullptr, *wanted};
      return true;
    }
    case Gives::extreme:
      programs = {&cast_program(dtype, dtype), nullptr, dtype};
      return true;
    case Gives::mean: {
      const DType within = within_of(dtype), result = averaged_of(dtype);
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
  const auto at = axis_in(axis, shape.rank);
  return at && !std::exchange(gone[*at], true);
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
    call_op(backend, &Backend::map_reduce, *programs.front, op, shape.span(), axes, {&input, 1}, {},
            {&output, 1}, programs.behind, {}, numbers);
  });
}

/// name(x, axis, keepdims, dtype): None where this is not the common form, or an error that Python
/// words.
py::object reduced(const ArrayReduction& how, Arguments given) {
  const ArrayObject* const x = array_in(given[0]);
  Walk walk;
  Programs programs{};
  if (how.gives == Gives::place && PyTuple_Check(given[1])) return py::none();
  if (x == nullptr || x->size == 0 || !walk_of(*x, given[1], given[2], walk) ||
      !choose(how, *x, given[3], programs)) {
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
py::object call_reduction(Arguments given) {
  return reduced(reductions[index], given);
}

/// Of moments, the squares over a number, or the root of that.
const Program& variance(DType within, DType to, bool is_root) {
  static auto& kept = *new std::array<std::unordered_map<unsigned, Program>, 2>();
  return kept_program(kept[is_root ? 1 : 0], within, to, [&](Program& p) {
    p.input(within);
    Program::Value found = p.apply("div", std::array{p.input(within), p.number(within)});
    if (is_root) found = p.apply("sqrt", std::array{found});
    p.output(p.cast(found, to));
  });
}

/// _spread(x, axis, keepdims, correction, is_root): the variance, or its root.
py::object spread(Arguments given) {
  const ArrayObject* const x = array_in(given[0]);
  Walk walk;
  if (x == nullptr || x->size == 0 || !walk_of(*x, given[1], given[2], walk)) return py::none();
  double correction = 0;
  if (PyFloat_CheckExact(given[3])) {
    correction = PyFloat_AS_DOUBLE(given[3]);
  } else if (const auto whole = integer_in(given[3])) {
    correction = static_cast<double>(*whole);
  } else {
    return py::none();
  }
  if (!std::isfinite(correction)) return py::none();
  const DType dtype = x->stored_as, within = within_of(dtype), to = averaged_of(dtype);
  const Memory from = x->memory();
  const Sizes shape(x->shape), strides = strides_of(*x);
  py::object result = new_array(x->backend, walk.left.tuple(), to);
  const ArrayObject& target = *array_in(result);
  const double count = static_cast<double>(x->size / target.size);
  const std::array<Number, 1> left{count > correction ? count - correction : 0};
  const MapOperand elements{from->buffer(), strides.span(), x->offset};
  const MapOperand output(target.filled->buffer());
  const Program &front = cast_program(dtype, within),
                &behind = variance(within, to, given[4] == Py_True);
  Backend& backend = *from->backend();
  without_gil([&] {
    call_op(backend, &Backend::map_reduce, front, Reduction::moments, shape.span(),
            walk.axes.span(), {&elements, 1}, {}, {&output, 1}, &behind, {}, left);
  });
  return result;
}

/// _cumulated(x, axis, dtype, is_product): the sums, or products, of what comes before.
py::object cumulated(Arguments given) {
  const ArrayObject* const x = array_in(given[0]);
  if (x == nullptr || x->size == 0) return py::none();
  const Sizes shape(x->shape);
  const auto axis = given[1] == Py_None && shape.rank == 1 ? std::optional<std::size_t>(0)
                                                           : axis_in(given[1], shape.rank);
  const auto wanted = summed_in(*x, given[2]);
  if (!axis || !wanted) return py::none();
  const Memory from = x->memory();
  const Sizes strides = strides_of(*x);
  py::object result = new_array(x->backend, x->shape, *wanted);
  const MapOperand input{from->buffer(), strides.span(), x->offset};
  const MapOperand output(array_in(result)->filled->buffer());
  const Program& program = cast_program(x->stored_as, *wanted);
  Backend& backend = *from->backend();
  without_gil([&, op = given[3] == Py_True ? ScanOp::prod : ScanOp::sum] {
    call_op(backend, &Backend::scan, program, op, shape.span(), static_cast<Size>(*axis),
            {&input, 1}, {}, output, false, false);
  });
  return result;
}

PyMethodDef functions[] = {
    fast_function<5, spread>(
        "_spread",
        "_spread(x: object, axis: object, keepdims: object, correction: object, is_root: bool) -> "
        "Array | None\n\nThe variance of a real Array along axes, or its root. None where an "
        "argument is not of the common kind, or wrong."),
    fast_function<4, cumulated>(
        "_cumulated",
        "_cumulated(x: object, axis: object, dtype: object, is_product: bool) -> Array | None\n\n"
        "The sums, or products, of elements and all before them. None where an argument is not of "
        "the common kind, or wrong."),
};

template <std::size_t... index>
auto definitions_of(std::index_sequence<index...>) {
  return std::array{fast_function<4, call_reduction<index>>(reductions[index].name, nullptr)...};
}

}  // namespace

void bind_array_reduce(py::module_& m) {
  m.def(
      "_reductions",
      [] {
        constexpr std::size_t count = std::size(reductions);
        static auto definitions = definitions_of(std::make_index_sequence<count>());
        py::dict made;
        for (PyMethodDef& one : definitions) {
          made[one.ml_name] =
              py::reinterpret_steal<py::object>(PyCFunction_NewEx(&one, nullptr, nullptr));
        }
        return made;
      },
      "The reductions of Arrays by name, called with (x, axis, keepdims, dtype): None where an "
      "argument is not of the common kind, or wrong.");
  for (PyMethodDef& one : functions) add_function(m, one);
}

}  // namespace tilewright::bindings
