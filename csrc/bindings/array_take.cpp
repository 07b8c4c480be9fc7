#include "bindings/array_take.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "bindings/array_arguments.hpp"
#include "bindings/array_elementwise.hpp"
#include "bindings/array_map.hpp"
#include "bindings/array_masks.hpp"
#include "bindings/array_rules.hpp"
#include "bindings/basic_index.hpp"
#include "bindings/deferred.hpp"
#include "bindings/noted_call.hpp"
#include "bindings/operands.hpp"
#include "core/state.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

constexpr std::size_t most_indices = 4;

constexpr std::size_t most_items = 2 * max_rank;

/// A move of elements by arrays of indices, beside which slices, integers and new axes may stand.
struct Walk {
  std::array<const ArrayObject*, most_indices> arrays{};
  std::size_t count = 0;
  Sizes result;     ///< the shape of what is taken
  Sizes shape;      ///< of what is walked: of complex elements, their parts as well
  Sizes strides;    ///< of x there
  Size offset = 0;  ///< of its first element
  Size parts = 1;   ///< of an element
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

/// The items of a key, and where its arrays are: each takes an axis of x and a dimension of the
/// view that slices make.
struct Items {
  std::array<PyObject*, most_items> given, basic;
  std::size_t count = 0;
  std::array<std::size_t, most_indices> axes, dims;
  std::size_t first = 0;  ///< dimension of the view before which the arrays stand

  std::span<PyObject* const> view() const { return std::span(basic).first(count); }
};

bool is_index(const ArrayObject& index, const ArrayObject& x) {
  return is_integer(index.stored_as) && index.backend == x.backend && index.size != 0 &&
         PyTuple_GET_SIZE(index.shape) != 0;
}

/// False where the key has more in it.
bool read_items(const ArrayObject& x, PyObject* key, Walk& walk, Items& items) {
  static PyObject* const whole = PySlice_New(nullptr, nullptr, nullptr);
  const bool several = PyTuple_CheckExact(key);
  items.count = several ? static_cast<std::size_t>(PyTuple_GET_SIZE(key)) : 1;
  if (items.count > most_items) return false;
  std::size_t consumed = 0, ellipses = 0;
  for (std::size_t i = 0; i < items.count; ++i) {
    PyObject* const item = several ? PyTuple_GET_ITEM(key, static_cast<Py_ssize_t>(i)) : key;
    items.given[i] = items.basic[i] = item;
    ellipses += item == Py_Ellipsis ? 1 : 0;
    consumed += item == Py_Ellipsis || item == Py_None ? 0 : 1;
    if (const ArrayObject* const index = array_in(item)) {
      if (!is_index(*index, x) || walk.count == most_indices) return false;
      walk.arrays[walk.count++] = index;
      items.basic[i] = whole;
    } else if (item != Py_Ellipsis && item != Py_None && !PySlice_Check(item) &&
               !PyLong_CheckExact(item)) {
      return false;
    }
  }
  const auto rank = static_cast<std::size_t>(PyTuple_GET_SIZE(x.shape));
  if (walk.count == 0 || ellipses > 1 || consumed > rank) return false;
  // Integers beside arrays count as arrays: what is between two of them moves all to the front.
  std::size_t axis = 0, dim = 0, at = 0, blocks = 0;
  bool is_within = false;
  for (std::size_t i = 0; i < items.count; ++i) {
    PyObject* const item = items.given[i];
    const bool is_array = items.basic[i] != item, is_taken = is_array || PyLong_CheckExact(item);
    if (is_taken && !is_within && blocks++ == 0) items.first = dim;
    is_within = is_taken;
    if (is_array) {
      items.axes[at] = axis;
      items.dims[at++] = dim;
    }
    const std::size_t more = item == Py_Ellipsis ? rank - consumed : 1;
    axis += item == Py_None ? 0 : more;
    dim += is_taken && !is_array ? 0 : more;
  }
  if (blocks > 1) items.first = 0;
  return true;
}

/// The shape that the indices broadcast to; false where they do not.
bool common_shape(const Walk& walk, Sizes& common) {
  for (std::size_t k = 0; k < walk.count; ++k) {
    const Sizes own(walk.arrays[k]->shape);
    if (own.rank > common.rank) {
      std::copy_backward(common.values.begin(), common.values.begin() + common.rank,
                         common.values.begin() + own.rank);
      std::fill_n(common.values.begin(), own.rank - common.rank, 1);
      common.rank = own.rank;
    }
    for (std::size_t i = 1; i <= own.rank; ++i) {
      Size& size = common.values[common.rank - i];
      if (size == 1) size = own[own.rank - i];
      if (own[own.rank - i] != size && own[own.rank - i] != 1) return false;
    }
  }
  return true;
}

/// Walks the parts of complex elements.
void take_parts(Walk& walk) {
  walk.parts = 2;
  walk.offset *= 2;
  for (std::size_t i = 0; i < walk.strides.rank; ++i) walk.strides.values[i] *= 2;
  walk.shape.values[walk.shape.rank++] = 2;
  walk.strides.values[walk.strides.rank++] = 1;
  for (std::size_t k = 0; k < walk.count; ++k) {
    walk.steps[k].values[walk.steps[k].rank++] = 0;
    walk.by[k].stride *= 2;
  }
}

/// False where the key is none, or the elements are none.
bool walk_of(const ArrayObject& x, PyObject* key, Walk& walk) {
  Items items;
  Sizes common;
  if (x.size == 0 || !read_items(x, key, walk, items) || !common_shape(walk, common)) return false;
  const BasicIndex view(x, items.view());
  if (common.rank + view.shape.rank - walk.count >= max_rank) return false;
  walk.offset = view.offset;
  const auto add = [&](Size size, Size stride) {
    walk.shape.values[walk.shape.rank++] = size;
    walk.strides.values[walk.strides.rank++] = stride;
  };
  const auto add_rest = [&](std::size_t from, std::size_t to) {
    for (std::size_t dim = from; dim < to; ++dim) {
      const auto end = items.dims.begin() + static_cast<std::ptrdiff_t>(walk.count);
      if (std::find(items.dims.begin(), end, dim) == end) add(view.shape[dim], view.strides[dim]);
    }
  };
  add_rest(0, items.first);
  for (std::size_t i = 0; i < common.rank; ++i) add(common[i], 0);
  const std::size_t last = walk.shape.rank;
  add_rest(items.first, view.shape.rank);
  walk.result = walk.shape;
  for (const Size size : walk.shape.span()) {
    if (size == 0) return false;
  }
  for (std::size_t k = 0; k < walk.count; ++k) {
    const ArrayObject& index = *walk.arrays[k];
    const Sizes own(index.shape), own_steps = strides_of(index);
    Sizes& steps = walk.steps[k];
    steps.rank = walk.shape.rank;
    std::fill_n(steps.values.begin(), steps.rank, 0);
    for (std::size_t i = 0; i < own.rank; ++i) {
      if (own[i] != 1) steps.values[last - own.rank + i] = own_steps[i];
    }
    const std::size_t dim = items.dims[k];
    walk.by[k] = {
        {}, index.stored_as, view.shape[dim], view.strides[dim], static_cast<Size>(items.axes[k])};
  }
  if (x.is_complex) take_parts(walk);
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

/// _taken(x, indices, axis, call): along an axis, of one dimension if that is None; None where the
/// indices are no integers, or the axis is not of the common kind.
py::object taken(Arguments given) {
  static PyObject* const whole = PySlice_New(nullptr, nullptr, nullptr);
  const ArrayObject* const x = any_array_in(given[0]);
  const ArrayObject* const indices = array_in(given[1]);
  if (x == nullptr || indices == nullptr || !is_integer(indices->stored_as)) return py::none();
  const Sizes shape(x->shape);
  const auto axis = given[2] == Py_None && shape.rank == 1 ? std::optional<std::size_t>(0)
                                                           : axis_in(given[2], shape.rank);
  if (!axis || *axis + 1 > most_items) return py::none();
  py::object key = py::reinterpret_borrow<py::object>(given[1]);
  if (*axis > 0) {
    py::tuple all(*axis + 1);
    for (std::size_t i = 0; i < *axis; ++i) all[i] = py::handle(whole);
    all[*axis] = key;
    key = all;
  }
  py::object found = take_by_arrays(*x, key.ptr(), characters(given[3]));
  return found ? found : py::none();
}

/// The walk of an axis by the indices of the line beside each; false where these are of another
/// shape but along the axis.
bool walk_along(const ArrayObject& x, const ArrayObject& index, std::size_t axis, Walk& walk) {
  const Sizes shape(x.shape), own(index.shape);
  if (x.size == 0 || index.size == 0 || index.backend != x.backend || own.rank != shape.rank ||
      shape.rank == max_rank) {
    return false;
  }
  for (std::size_t i = 0; i < shape.rank; ++i) {
    if (i != axis && own[i] != shape[i]) return false;
  }
  walk.arrays[walk.count++] = &index;
  walk.offset = x.offset;
  walk.shape = walk.result = own;
  walk.strides = strides_of(x);
  walk.by[0] = {{}, index.stored_as, shape[axis], walk.strides[axis], static_cast<Size>(axis)};
  walk.strides.values[axis] = 0;
  walk.steps[0] = strides_of(index);
  if (x.is_complex) take_parts(walk);
  return true;
}

py::object take_by(const ArrayObject& x, Walk& walk, std::string_view call) {
  py::object result = new_array(x.backend, walk.result.tuple(), x.stored_as, x.is_complex);
  const Memory from = x.memory();
  const auto held = walk.hold();
  const MapOperand source{from->buffer(), walk.strides.span(), walk.offset};
  const MapOperand output(any_array_in(result)->filled->buffer());
  Backend& backend = *from->backend();
  without_gil([&] {
    call_op(backend, &Backend::gather_elements, source, walk.indices(), output, walk.shape.span(),
            x.stored_as, call);
  });
  return result;
}

/// _taken_along(x, indices, axis): as take_along_axis() does; None for what broadcasts.
py::object taken_along(Arguments given) {
  const ArrayObject* const x = any_array_in(given[0]);
  const ArrayObject* const indices = array_in(given[1]);
  if (x == nullptr || indices == nullptr || !is_integer(indices->stored_as)) return py::none();
  const auto axis = axis_in(given[2], static_cast<std::size_t>(PyTuple_GET_SIZE(x->shape)));
  Walk walk;
  if (!axis || !walk_along(*x, *indices, *axis, walk)) return py::none();
  return take_by(*x, walk, "take_along_axis");
}

PyMethodDef along_function =
    fast_function<3, taken_along>("_taken_along",
                                  "_taken_along(x: Array, indices: Array, axis: int) -> Array | "
                                  "None\n\nThe elements along an axis "
                                  "at the indices of the line beside each; None where the indices "
                                  "are no Array of integers of x's "
                                  "shape but along the axis.");

PyMethodDef function = fast_function<4, taken>(
    "_taken",
    "_taken(x: object, indices: object, axis: object, call: str) -> Array | None\n\nThe elements "
    "along an axis, that of an Array of one dimension if it is None. None where an argument is not "
    "of the common kind, or wrong.");

/// False where an index lies in what is written.
bool put_number(const ArrayObject& x, Walk& walk, PyObject* value) {
  const Number number = assigned_number(value, x.stored_as);
  const auto held = walk.hold();
  make_writable(x, "assignment");
  for (std::size_t k = 0; k < walk.count; ++k) {
    if (overlap(*walk.arrays[k], x)) return false;
  }
  const Memory to = x.memory();
  const MapOperand output{to->buffer(), walk.strides.span(), walk.offset};
  Backend& backend = *to->backend();
  without_gil([&] {
    scatter_number(backend, number, walk.indices(), output, walk.shape.span(), x.stored_as,
                   "x[...] = value");
  });
  return true;
}

}  // namespace

void bind_array_take(py::module_& m) {
  add_function(m, function);
  add_function(m, along_function);
}

py::object take_by_arrays(const ArrayObject& x, PyObject* key, std::string_view call) {
  if (py::object found = take_by_mask(x, key)) return found;
  Walk walk;
  if (!walk_of(x, key, walk)) return {};
  return take_by(x, walk, call);
}

bool put_by_arrays(const ArrayObject& x, PyObject* key, PyObject* value) {
  if (put_by_mask(x, key, value)) return true;
  Walk walk;
  if (!walk_of(x, key, walk)) return false;
  const bool is_plain = PyLong_Check(value) || PyFloat_Check(value);
  if (is_plain && !x.is_complex) return put_number(x, walk, value);
  py::object cell;
  if (bindings::is_number(value)) {
    make_writable(x, "assignment");
    cell = new_array(x.backend, py::tuple(0), x.stored_as, x.is_complex);
    assign(*any_array_in(cell), value);
    value = cell.ptr();
  }
  const ArrayObject* const given = any_array_in(value);
  if (given == nullptr || given->backend != x.backend || given->stored_as != x.stored_as ||
      given->is_complex != x.is_complex) {
    return false;
  }
  Sizes strides;
  if (!strides_along(*given, walk.result, strides)) return false;
  if (x.is_complex) {
    for (std::size_t i = 0; i < strides.rank; ++i) strides.values[i] *= 2;
    strides.values[strides.rank++] = 1;
  }
  const Memory values = given->memory();
  const auto held = walk.hold();
  make_writable(x, "assignment");
  if (overlap(*given, x)) return false;
  for (std::size_t k = 0; k < walk.count; ++k) {
    if (overlap(*walk.arrays[k], x)) return false;
  }
  const Memory to = x.memory();
  const MapOperand source{values->buffer(), strides.span(), given->offset * walk.parts};
  const MapOperand output{to->buffer(), walk.strides.span(), walk.offset};
  Backend& backend = *to->backend();
  without_gil([&] {
    backend.scatter_elements(source, walk.indices(), output, walk.shape.span(), x.stored_as,
                             "x[...] = value");
  });
  return true;
}

}  // namespace tilewright::bindings
