#include "bindings/array_take.hpp"

#include <algorithm>
#include <array>

#include "bindings/array_elementwise.hpp"
#include "bindings/array_map.hpp"
#include "bindings/array_rules.hpp"
#include "bindings/deferred.hpp"
#include "bindings/operands.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

constexpr std::size_t most_indices = 4;

/// A move of elements by arrays of indices of one shape along the first axes.
struct Walk {
  std::array<const ArrayObject*, most_indices> arrays{};
  std::size_t count = 0;
  Sizes shape;    ///< of what is walked: the indices' dimensions, then the others of x
  Sizes strides;  ///< of x there
  std::array<Sizes, most_indices> steps;  ///< of the indices there
  std::array<IndexOperand, most_indices> by;

  /// Takes the indices where they lie; they stay there as long as what comes back does.
  std::array<Memory, most_indices> hold() {
    std::array<Memory, most_indices> held;
    for (std::size_t k = 0; k < count; ++k) {
      held[k] = arrays[k]->memory();
      by[k].indices = {held[k]->buffer(), steps[k].span(), arrays[k]->offset};
    }
    return held;
  }
  std::span<const IndexOperand> indices() const { return std::span(by).first(count); }
};

/// False where the key is none, or the elements are none.
bool walk_of(const ArrayObject& x, PyObject* key, Walk& walk) {
  const bool several = PyTuple_CheckExact(key);
  const std::size_t count = several ? static_cast<std::size_t>(PyTuple_GET_SIZE(key)) : 1;
  const Sizes of(x.shape);
  if (x.is_complex || x.size == 0 || count == 0 || count > std::min(most_indices, of.rank)) {
    return false;
  }
  for (std::size_t k = 0; k < count; ++k) {
    const ArrayObject* const index =
        array_in(several ? PyTuple_GET_ITEM(key, static_cast<Py_ssize_t>(k)) : key);
    if (index == nullptr || !is_integer(index->stored_as) || index->backend != x.backend ||
        index->size == 0 || (k > 0 && !same_shape(*index, *walk.arrays[0]))) {
      return false;
    }
    walk.arrays[k] = index;
  }
  const Sizes own(walk.arrays[0]->shape), of_steps = strides_of(x);
  if (own.rank == 0 || own.rank + of.rank - count > max_rank) return false;
  walk.count = count;
  walk.shape.rank = walk.strides.rank = own.rank + of.rank - count;
  for (std::size_t i = 0; i < own.rank; ++i) {
    walk.shape.values[i] = own[i];
    walk.strides.values[i] = 0;
  }
  for (std::size_t i = count; i < of.rank; ++i) {
    walk.shape.values[own.rank + i - count] = of[i];
    walk.strides.values[own.rank + i - count] = of_steps[i];
  }
  for (std::size_t k = 0; k < count; ++k) {
    const Sizes own_steps = strides_of(*walk.arrays[k]);
    Sizes& steps = walk.steps[k];
    steps.rank = walk.shape.rank;
    for (std::size_t i = 0; i < steps.rank; ++i) {
      steps.values[i] = i < own.rank && own[i] != 1 ? own_steps[i] : 0;
    }
    walk.by[k] = {{}, walk.arrays[k]->stored_as, of[k], of_steps[k], static_cast<Size>(k)};
  }
  return true;
}

/// The strides of a value along a shape that it is broadcast to; false where it is not.
bool strides_along(const ArrayObject& value, const Sizes& shape, Sizes& strides) {
  const Sizes own(value.shape);
  if (own.rank > shape.rank) return false;
  for (std::size_t i = 1; i <= own.rank; ++i) {
    if (own[own.rank - i] != 1 && own[own.rank - i] != shape[shape.rank - i]) return false;
  }
  strides = strides_as(value, shape);
  return true;
}

/// Whether assignment takes a number of Python's as an operand of this dtype.
bool is_plain(PyObject* value, DType dtype) {
  if (PyFloat_CheckExact(value)) return is_float(dtype);
  if (PyBool_Check(value)) return dtype == DType::boolean;
  if (!PyLong_CheckExact(value) || dtype == DType::boolean) return false;
  int overflow = 0;
  const long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
  return overflow == 0 && (is_float(dtype) || holds(dtype, whole, 0));
}

/// x[mask] = number.
bool put_by_mask(const ArrayObject& x, PyObject* key, PyObject* value) {
  static const ElementFunction& where = *element_function("where");
  const ArrayObject* const mask = array_in(key);
  if (x.is_complex || mask == nullptr || mask->stored_as != DType::boolean ||
      mask->backend != x.backend || PyTuple_GET_SIZE(mask->shape) == 0 || !same_shape(*mask, x) ||
      !is_plain(value, x.stored_as)) {
    return false;
  }
  make_writable(x, "assignment");
  evaluate(where, std::array{key, value, object_of(x)}, object_of(x));
  return true;
}

}  // namespace

py::object take_by_arrays(const ArrayObject& x, PyObject* key) {
  Walk walk;
  if (!walk_of(x, key, walk)) return {};
  py::object result = new_array(x.backend, walk.shape.tuple(), x.stored_as);
  const Memory from = x.memory();
  const auto held = walk.hold();
  const MapOperand source{from->buffer(), walk.strides.span(), x.offset};
  const MapOperand output(array_in(result)->filled->buffer());
  Backend& backend = *from->backend();
  without_gil([&] {
    backend.gather_elements(source, walk.indices(), output, walk.shape.span(), x.stored_as,
                            "x[...]");
  });
  return result;
}

bool put_by_arrays(const ArrayObject& x, PyObject* key, PyObject* value) {
  if (put_by_mask(x, key, value)) return true;
  Walk walk;
  if (!walk_of(x, key, walk)) return false;
  py::object cell;
  if (bindings::is_number(value)) {
    make_writable(x, "assignment");
    cell = new_array(x.backend, py::tuple(0), x.stored_as);
    assign(*array_in(cell), value);
    value = cell.ptr();
  }
  const ArrayObject* const given = array_in(value);
  if (given == nullptr || given->backend != x.backend || given->stored_as != x.stored_as) {
    return false;
  }
  Sizes strides;
  if (!strides_along(*given, walk.shape, strides)) return false;
  const Memory values = given->memory();
  const auto held = walk.hold();
  make_writable(x, "assignment");
  if (overlap(*given, x)) return false;
  for (std::size_t k = 0; k < walk.count; ++k) {
    if (overlap(*walk.arrays[k], x)) return false;
  }
  const Memory to = x.memory();
  const MapOperand source{values->buffer(), strides.span(), given->offset};
  const MapOperand output{to->buffer(), walk.strides.span(), x.offset};
  Backend& backend = *to->backend();
  without_gil([&] {
    backend.scatter_elements(source, walk.indices(), output, walk.shape.span(), x.stored_as,
                             "x[...] = value");
  });
  return true;
}

}  // namespace tilewright::bindings
