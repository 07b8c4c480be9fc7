#include "bindings/array_join.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "bindings/array_arguments.hpp"
#include "bindings/array_complex.hpp"
#include "bindings/array_map.hpp"
#include "bindings/array_rules.hpp"
#include "bindings/noted_call.hpp"
#include "bindings/operands.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

/// Arrays of one backend and dtype that lie one after the other along an axis, or along a new one.
struct Parts {
  std::vector<const ArrayObject*> arrays;
  std::vector<py::object> kept;
  std::size_t axis = 0;
  bool is_new = false;  ///< the axis
  Sizes shape;          ///< of all of them
};

bool is_alike(const ArrayObject& a, const ArrayObject& b) {
  return a.backend == b.backend && a.stored_as == b.stored_as && a.is_complex == b.is_complex;
}

/// False where one is no Array, or not as the others are.
bool read(PyObject* given, PyObject* axis, Parts& parts) {
  if (!PyList_CheckExact(given) && !PyTuple_CheckExact(given)) return false;
  const auto count = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(given));
  if (count == 0) return false;
  parts.arrays.reserve(count);
  parts.kept.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const ArrayObject* const one = any_array_in(PySequence_Fast_ITEMS(given)[i]);
    if (one == nullptr || (i > 0 && !is_alike(*one, *parts.arrays[0]))) return false;
    parts.arrays.push_back(one);
    parts.kept.push_back(py::reinterpret_borrow<py::object>(object_of(*one)));
  }
  const Sizes first(parts.arrays[0]->shape);
  const std::size_t rank = first.rank + (parts.is_new ? 1 : 0);
  const auto along = axis_in(axis, rank);
  if (!along || rank >= max_rank) return false;
  parts.axis = *along;
  parts.shape.rank = rank;
  Size total = 0;
  for (const ArrayObject* one : parts.arrays) {
    const Sizes own(one->shape);
    if (own.rank != first.rank) return false;
    for (std::size_t i = 0; i < own.rank; ++i) {
      if (own[i] != first[i] && (parts.is_new || i != parts.axis)) return false;
    }
    if (__builtin_add_overflow(total, parts.is_new ? 1 : own[parts.axis], &total)) return false;
  }
  for (std::size_t i = 0, from = 0; i < rank; ++i) {
    parts.shape.values[i] = i == parts.axis ? total : first[from];
    if (i != parts.axis || !parts.is_new) ++from;
  }
  return true;
}

/// Of more than that each is a copy of its own.
constexpr Size most_bytes_together = Size{4} << 20;

/// One of them as the program that copies it takes it.
struct Copy {
  py::object kept;
  Memory memory;
  Sizes shape, strides, to;
  MapOperand source;
  Size offset;
};

/// By a program for each, which copies it wherever it lies.
void join_apart(const Parts& parts, const ArrayObject& whole) {
  // Complex elements are pairs, which are a dimension more.
  const py::object pairs = whole.is_complex ? parts_view(whole) : py::object();
  const Sizes to = strides_of(pairs ? *array_in(pairs) : whole);
  std::vector<Copy> copies(parts.arrays.size());
  Size at = 0;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    Copy& one = copies[i];
    const ArrayObject* from = parts.arrays[i];
    one.offset = at * to[parts.axis];
    at += parts.is_new ? 1 : Sizes(from->shape)[parts.axis];
    if (from->size == 0) continue;
    if (whole.is_complex) {
      one.kept = parts_view(*from);
      from = array_in(one.kept);
    }
    one.memory = from->memory();
    one.shape = Sizes(from->shape);
    one.strides = strides_of(*from);
    one.to.rank = one.shape.rank;
    for (std::size_t d = 0, next = 0; d < to.rank; ++d) {
      if (!parts.is_new || d != parts.axis) one.to.values[next++] = to[d];
    }
    one.source = {one.memory->buffer(), one.strides.span(), from->offset};
  }
  const Program& copy = cast_program(whole.stored_as, whole.stored_as);
  Backend& backend = *whole.filled->backend();
  without_gil([&, buffer = whole.filled->buffer()] {
    for (const Copy& one : copies) {
      if (one.memory == nullptr) continue;
      const MapOperand output{buffer, one.to.span(), one.offset};
      call_op(backend, &Backend::map, copy, one.shape.span(), {&one.source, 1}, {}, {&output, 1});
    }
  });
}

/// In as few launches as there may be; elements of all parts lie side by side.
void join_together(const Parts& parts, const ArrayObject& whole) {
  const Size parts_of = whole.is_complex ? 2 : 1;  // an element
  std::vector<Memory> memories;
  std::vector<MapOperand> inputs;
  std::vector<Size> sizes;
  memories.reserve(parts.arrays.size());
  inputs.reserve(parts.arrays.size());
  sizes.reserve(parts.arrays.size());
  for (const ArrayObject* one : parts.arrays) {
    if (one->size == 0) continue;
    memories.push_back(one->memory());
    inputs.emplace_back(memories.back()->buffer(), std::span<const Size>(), one->offset * parts_of);
    sizes.push_back(parts.is_new ? 1 : Sizes(one->shape)[parts.axis]);
  }
  Sizes shape = parts.shape;
  if (whole.is_complex) shape.values[shape.rank++] = parts_of;
  Backend& backend = *whole.filled->backend();
  without_gil([&, buffer = whole.filled->buffer()] {
    call_op(backend, &Backend::concat, inputs, sizes, buffer, shape.span(),
            static_cast<Size>(parts.axis), whole.stored_as);
  });
}

py::object join(const Parts& parts) {
  const ArrayObject& first = *parts.arrays[0];
  py::object result =
      new_array(first.backend, parts.shape.tuple(), first.stored_as, first.is_complex);
  const ArrayObject& whole = *any_array_in(result);
  if (whole.size == 0) return result;
  const bool are_rows = std::ranges::all_of(
      parts.arrays, [](const ArrayObject* one) { return one->is_contiguous(); });
  if (are_rows && whole.size * whole.item_bytes() <= most_bytes_together) {
    join_together(parts, whole);
  } else {
    join_apart(parts, whole);
  }
  return result;
}

/// _joined(arrays, axis, is_new)
py::object joined(Arguments given) {
  Parts parts;
  parts.is_new = given[2] == Py_True;
  if (!read(given[0], given[1], parts)) return py::none();
  return join(parts);
}

PyMethodDef function = fast_function<3, joined>(
    "_joined",
    "_joined(arrays: object, axis: object, is_new: bool) -> Array | None\n\nArrays one after the "
    "other along an axis, which `is_new` or theirs. None where they are not of one backend and "
    "dtype, or an argument is not of the common kind, or wrong.");

}  // namespace

void bind_array_join(py::module_& m) { add_function(m, function); }

}  // namespace tilewright::bindings
