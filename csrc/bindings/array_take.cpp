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

/// A move of elements by an array of indices along the first axis.
struct Walk {
  const ArrayObject* index = nullptr;
  Sizes shape;    ///< of what is walked: the index's dimensions, then the others of x
  Sizes strides;  ///< of x there
  Sizes steps;    ///< of the index there
  IndexOperand by;
};

/// False where the key is none, or the elements are none.
bool walk_of(const ArrayObject& x, PyObject* key, Walk& walk) {
  const ArrayObject* const index = array_in(key);
  if (x.is_complex || index == nullptr || !is_integer(index->stored_as) ||
      index->backend != x.backend || x.size == 0 || index->size == 0) {
    return false;
  }
  const Sizes own(index->shape), of(x.shape);
  if (own.rank == 0 || of.rank == 0 || own.rank + of.rank > max_rank) return false;
  const Sizes own_steps = strides_of(*index), of_steps = strides_of(x);
  walk.index = index;
  const auto add = [&](Size size, Size stride, Size step) {
    walk.shape.values[walk.shape.rank++] = size;
    walk.strides.values[walk.strides.rank++] = stride;
    walk.steps.values[walk.steps.rank++] = step;
  };
  for (std::size_t i = 0; i < own.rank; ++i) add(own[i], 0, own[i] == 1 ? 0 : own_steps[i]);
  for (std::size_t i = 1; i < of.rank; ++i) add(of[i], of_steps[i], 0);
  walk.by = {{}, index->stored_as, of[0], of_steps[0], 0};
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

py::object take_by_one(const ArrayObject& x, PyObject* key) {
  Walk walk;
  if (!walk_of(x, key, walk)) return {};
  py::object result = new_array(x.backend, walk.shape.tuple(), x.stored_as);
  const Memory from = x.memory(), places = walk.index->memory();
  const MapOperand source{from->buffer(), walk.strides.span(), x.offset};
  const MapOperand output(array_in(result)->filled->buffer());
  walk.by.indices = {places->buffer(), walk.steps.span(), walk.index->offset};
  Backend& backend = *from->backend();
  without_gil([&] {
    backend.gather_elements(source, {&walk.by, 1}, output, walk.shape.span(), x.stored_as,
                            "x[...]");
  });
  return result;
}

bool put_by_one(const ArrayObject& x, PyObject* key, PyObject* value) {
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
  const Memory values = given->memory(), places = walk.index->memory();
  make_writable(x, "assignment");
  if (overlap(*given, x) || overlap(*walk.index, x)) return false;
  const Memory to = x.memory();
  const MapOperand source{values->buffer(), strides.span(), given->offset};
  const MapOperand output{to->buffer(), walk.strides.span(), x.offset};
  walk.by.indices = {places->buffer(), walk.steps.span(), walk.index->offset};
  Backend& backend = *to->backend();
  without_gil([&] {
    backend.scatter_elements(source, {&walk.by, 1}, output, walk.shape.span(), x.stored_as,
                             "x[...] = value");
  });
  return true;
}

}  // namespace tilewright::bindings
