#include "bindings/array_create.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include "bindings/array_arguments.hpp"
#include "bindings/array_elementwise.hpp"
#include "bindings/array_map.hpp"
#include "bindings/array_rules.hpp"
#include "bindings/deferred.hpp"
#include "bindings/noted_call.hpp"
#include "bindings/self.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

bool is_size(PyObject* given) {
  if (!PyLong_CheckExact(given)) return false;
  int overflow = 0;
  return PyLong_AsLongLongAndOverflow(given, &overflow) >= 0 && overflow == 0;
}

/// A tuple of sizes; none for what is to be looked at more closely.
py::object shape_of(PyObject* given) {
  if (is_size(given)) return py::make_tuple(py::handle(given));
  if (!PyTuple_CheckExact(given) || PyTuple_GET_SIZE(given) > static_cast<Py_ssize_t>(max_rank))
    return {};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given); ++i) {
    if (!is_size(PyTuple_GET_ITEM(given, i))) return {};
  }
  return py::reinterpret_borrow<py::object>(given);
}

bool is_held(PyObject* value, DType dtype) {
  if (value == Py_None) return true;
  if (PyFloat_CheckExact(value)) return is_float(dtype);
  if (!PyLong_CheckExact(value)) return false;
  int overflow = 0;
  const long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0) return false;
  return is_integer(dtype) ? holds(dtype, whole, 0) : whole == 0 || whole == 1 || is_float(dtype);
}

/// _filled(backend, shape, dtype, value)
py::object filled(Arguments given) {
  PyObject *const backend = given[0], *const value = given[3];
  if (holder_of<Backend>(backend) == nullptr) return py::none();
  const std::optional<DType> dtype =
      given[2] == Py_None ? default_float : stored_dtype(backend, given[2]);
  if (!dtype || !is_held(value, *dtype)) return py::none();
  const py::object shape = shape_of(given[1]);
  if (!shape) return py::none();
  py::object array = new_array(backend, shape, *dtype);
  if (value != Py_None && array_in(array)->size != 0) assign(*array_in(array), value);
  return array;
}

/// Numbers by equal steps, few enough to be counted here.
struct Steps {
  static constexpr Size most = 4096;

  bool is_whole = true;  ///< and so are the numbers below
  Size first = 0, step = 1;
  double real_first = 0, real_step = 1, second = 0;
  Size count = 0;
};

/// From `start` up to before `stop`, as arange() counts them; false for what is not so simple.
bool whole_steps(Size start, Size stop, Size step, Steps& steps) {
  constexpr Size most = Size{1} << 53;  // up to which floats have them all
  const auto fits = [](Size one) { return -most < one && one < most; };
  if (step == 0 || !fits(start) || !fits(stop) || !fits(step)) return false;
  const Size past = stop - start;
  steps.first = start;
  steps.step = step;
  steps.count = (past < 0) == (step < 0) ? (past + step - (step > 0 ? 1 : -1)) / step : 0;
  return steps.count <= Steps::most && fits(start + steps.count * step);
}

bool real_steps(double start, double stop, double step, Steps& steps) {
  const double count = std::ceil((stop - start) / step);
  const bool are_finite = std::isfinite(start) && std::isfinite(stop) && std::isfinite(step);
  if (!are_finite || !std::isfinite(count) || count > Steps::most) return false;
  steps.is_whole = false;
  steps.real_first = start;
  // What is added each time is what makes the second number of the first one, rounded.
  steps.second = start + step;
  steps.real_step = steps.second - start;
  steps.count = count > 0 ? static_cast<Size>(count) : 0;
  constexpr double most = std::numeric_limits<float>::max();
  return std::max(std::abs(start),
                  std::abs(start + static_cast<double>(steps.count) * steps.real_step)) <= most;
}

std::optional<double> real_in(PyObject* given) {
  if (PyFloat_CheckExact(given)) return PyFloat_AS_DOUBLE(given);
  const std::optional<Size> whole = integer_in(given);
  constexpr Size most = Size{1} << 53;
  if (!whole || *whole >= most || *whole <= -most) return std::nullopt;
  return static_cast<double>(*whole);
}

bool read_steps(PyObject* start, PyObject* stop, PyObject* step, Steps& steps) {
  const auto first = integer_in(start), past = integer_in(stop), by = integer_in(step);
  if (first && past && by) return whole_steps(*first, *past, *by, steps);
  const auto real_first = real_in(start), real_past = real_in(stop), real_by = real_in(step);
  if (!real_first || !real_past || !real_by || *real_by == 0) return false;
  if (!real_steps(*real_first, *real_past, *real_by, steps)) return false;
  const auto is_whole = [](double one) { return std::abs(one) < 0x1p53 && one == std::floor(one); };
  if (!is_whole(*real_first) || !is_whole(*real_by)) return true;
  steps.is_whole = true;
  steps.first = static_cast<Size>(*real_first);
  steps.step = static_cast<Size>(*real_by);
  return std::abs(*real_first + static_cast<double>(steps.count) * *real_by) < 0x1p53;
}

template <class T>
void count_into(const Steps& steps, std::byte* to) {
  for (Size i = 0; i < steps.count; ++i) {
    const double real =
        i == 1 ? steps.second : steps.real_first + static_cast<double>(i) * steps.real_step;
    const T one =
        steps.is_whole ? static_cast<T>(steps.first + i * steps.step) : static_cast<T>(real);
    std::memcpy(to + static_cast<std::size_t>(i) * sizeof(T), &one, sizeof(T));
  }
}

bool count_as(DType dtype, const Steps& steps, std::byte* to) {
  switch (dtype) {
    case DType::int32:
      return count_into<std::int32_t>(steps, to), true;
    case DType::int64:
      return count_into<std::int64_t>(steps, to), true;
    case DType::float32:
      return count_into<float>(steps, to), true;
    case DType::float64:
      return count_into<double>(steps, to), true;
    default:
      return false;
  }
}

/// _counted(backend, start, stop, step, dtype)
py::object counted(Arguments given) {
  PyObject* const backend = given[0];
  Steps steps;
  if (holder_of<Backend>(backend) == nullptr || is_recording_here() ||
      !read_steps(given[1], given[2], given[3], steps)) {
    return py::none();
  }
  const bool are_integers =
      PyLong_Check(given[1]) && PyLong_Check(given[2]) && PyLong_Check(given[3]);
  const std::optional<DType> dtype = given[4] != Py_None ? stored_dtype(backend, given[4])
                                     : are_integers      ? default_integer(backend)
                                                         : default_float;
  if (!dtype || (!steps.is_whole && !is_float(*dtype))) return py::none();
  const bool has_all = steps.count == 0 || !is_integer(*dtype) ||
                       (holds(*dtype, steps.first, 0) &&
                        holds(*dtype, steps.first + (steps.count - 1) * steps.step, 0));
  alignas(8) std::array<std::byte, Steps::most * 8> numbers;
  if (!has_all || !count_as(*dtype, steps, numbers.data())) return py::none();
  py::tuple shape(1);
  shape[0] = py::int_(steps.count);
  py::object array = new_array(backend, shape, *dtype);
  if (steps.count == 0) return array;
  const Memory to = array_in(array)->filled;
  without_gil([&] {
    const auto bytes = static_cast<std::size_t>(steps.count) * size_of(*dtype);
    call_op(*to->backend(), &Backend::copy_htod, to->buffer(), std::span(numbers).first(bytes), 0);
  });
  return array;
}

/// Numbers of Python's, few enough to be read here.
struct Listed {
  static constexpr std::size_t most = 512;

  std::array<Size, most> whole;
  std::array<float, most> real;
  std::size_t count = 0;
  bool are_whole = true;  ///< `real` has them all, `whole` integers

  /// False for what is neither an int nor a float, or is too large.
  bool add(PyObject* given) {
    constexpr Size most_exact = Size{1} << 53;
    if (const auto integer = integer_in(given)) {
      whole[count] = *integer;
      real[count++] = static_cast<float>(static_cast<double>(*integer));
      return -most_exact < *integer && *integer < most_exact;
    }
    if (!PyFloat_CheckExact(given)) return false;
    const double number = PyFloat_AS_DOUBLE(given);
    if (std::isfinite(number) && std::abs(number) > std::numeric_limits<float>::max()) return false;
    are_whole = false;
    real[count++] = static_cast<float>(number);
    return true;
  }
};

/// _listed(backend, values)
py::object listed(Arguments given) {
  PyObject *const backend = given[0], *const values = given[1];
  if (holder_of<Backend>(backend) == nullptr || is_recording_here()) return py::none();
  const bool is_list = PyList_CheckExact(values) || PyTuple_CheckExact(values);
  const std::span<PyObject* const> items =
      is_list
          ? std::span<PyObject* const>(PySequence_Fast_ITEMS(values),
                                       static_cast<std::size_t>(PySequence_Fast_GET_SIZE(values)))
          : std::span(&values, 1);
  Listed all;
  if (items.empty() || items.size() > Listed::most) return py::none();
  if (!std::ranges::all_of(items, [&](PyObject* one) { return all.add(one); })) return py::none();
  const DType dtype = all.are_whole ? default_integer(backend) : default_float;
  std::span<const std::byte> bytes = std::as_bytes(std::span(all.real).first(all.count));
  std::array<std::int32_t, Listed::most> narrow;
  if (dtype == DType::int64) bytes = std::as_bytes(std::span(all.whole).first(all.count));
  if (dtype == DType::int32) {
    for (std::size_t i = 0; i < all.count; ++i) {
      narrow[i] = static_cast<std::int32_t>(all.whole[i]);
      if (narrow[i] != all.whole[i]) return py::none();
    }
    bytes = std::as_bytes(std::span(narrow).first(all.count));
  }
  const py::tuple shape = is_list ? py::make_tuple(all.count) : py::tuple(0);
  py::object array = new_array(backend, shape, dtype);
  const Memory to = array_in(array)->filled;
  without_gil([&] { call_op(*to->backend(), &Backend::copy_htod, to->buffer(), bytes, 0); });
  return array;
}

/// _cast(x, dtype)
py::object cast(Arguments given) {
  const ArrayObject* const x = array_in(given[0]);
  if (x == nullptr) return py::none();
  const std::optional<DType> dtype = stored_dtype(x->backend, given[1]);
  if (!dtype || *dtype == x->stored_as) return py::none();
  py::object result = new_array(x->backend, x->shape, *dtype);
  const std::array<const ArrayObject*, 1> from{x};
  map_arrays(cast_program(x->stored_as, *dtype), from, {}, *array_in(result));
  return result;
}

PyMethodDef functions[] = {
    fast_function<4, filled>(
        "_filled",
        "_filled(backend: object, shape: object, dtype: object, value: object) -> Array | "
        "None\n\nAn Array with one value everywhere, or undefined contents for None; float32 for "
        "the dtype None. None where an argument is not of the common kind, or wrong."),
    fast_function<5, counted>(
        "_counted",
        "_counted(backend: object, start: object, stop: object, step: object, dtype: object) -> "
        "Array | None\n\nWhat arange() gives, where that is little. None for more, or where an "
        "argument is not of the common kind, or wrong."),
    fast_function<2, listed>("_listed",
                             "_listed(backend: object, values: object) -> Array | None\n\nWhat "
                             "asarray() gives of an int "
                             "or float, or of a short list of them. None for all else."),
    fast_function<2, cast>(
        "_cast",
        "_cast(x: object, dtype: object) -> Array | None\n\nA real Array in another real dtype. "
        "None where an argument is not of the common kind, or wrong."),
};

}  // namespace

void bind_array_create(py::module_& m) {
  for (PyMethodDef& one : functions) add_function(m, one);
}

}  // namespace tilewright::bindings
