#include "bindings/array_masks.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "bindings/array_arguments.hpp"
#include "bindings/array_elementwise.hpp"
#include "bindings/array_map.hpp"
#include "bindings/array_rules.hpp"
#include "bindings/array_take.hpp"
#include "bindings/deferred.hpp"
#include "bindings/operands.hpp"
#include "bindings/python_call.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

/// What may be chosen of so little gets room for all of it, and is queued before its number is
/// known: the device does not wait for the host in between.
constexpr Size most_room = Size{4} << 20;
/// What is less than half of its room moves to memory of its own from so many bytes on.
constexpr Size least_moved = Size{16} << 10;

/// The counts of a mask, as compact() and nonzero() take them.
class Counts {
 public:
  explicit Counts(const ArrayObject& mask)
      : mask_(mask.buffer()),
        n_(mask.size),
        memory_(new_memory(mask.backend, mask_counts_size(n_), DType::uint32)) {}

  Buffer mask() const { return mask_; }
  Buffer counts() const { return memory_->buffer(); }
  Size size() const { return n_; }
  Backend& backend() const { return *memory_->backend(); }
  /// What of the core makes them.
  void count() const { backend().mask_counts(mask_, counts(), n_); }
  /// How many elements of the mask are true: waits for the device.
  Size total() const {
    std::uint32_t number = 0;
    const auto last = static_cast<Size>(sizeof number) * (mask_counts_size(n_) - 1);
    backend().copy_dtoh(std::as_writable_bytes(std::span(&number, 1)), counts(), last);
    return number;
  }

 private:
  const Buffer mask_;
  const Size n_;
  const Memory memory_;
};

/// The first `used` of each of an Array's rows of `room` elements.
py::object first_of(const py::object& all, std::span<const Size> rows, Size used, Size room) {
  const ArrayObject& whole = *any_array_in(all);
  if (used == room) return all;
  Sizes shape, strides;
  for (const Size size : rows) {
    shape.values[shape.rank++] = size;
    strides.values[strides.rank++] = room;
  }
  shape.values[shape.rank++] = used;
  strides.values[strides.rank++] = 1;
  py::object part = new_view(whole, shape.tuple(), strides.span(), 0);
  if (2 * used >= room || whole.size * whole.item_bytes() < least_moved) return part;
  return copied(*any_array_in(part));
}

/// A result that `choose(to, count)` writes what a mask chooses to, `count` elements a row.
template <class Choose>
py::object chosen_by(const Counts& counts, PyObject* backend, std::span<const Size> rows,
                     DType dtype, bool is_complex, const Choose& choose) {
  Sizes shape;
  for (const Size size : rows) shape.values[shape.rank++] = size;
  const std::size_t last = shape.rank++;
  const auto room_for = [&](Size count) {
    shape.values[last] = count;
    return new_array(backend, shape.tuple(), dtype, is_complex);
  };
  Size bytes = static_cast<Size>(size_of(dtype)) * (is_complex ? 2 : 1) * counts.size();
  for (const Size size : rows) bytes *= size;
  Size total = 0;
  if (bytes <= most_room) {
    const py::object all = room_for(counts.size());
    without_gil([&, to = any_array_in(all)->filled->buffer()] {
      counts.count();
      choose(to, counts.size());
      total = counts.total();
    });
    return first_of(all, rows, total, counts.size());
  }
  without_gil([&] {
    counts.count();
    total = counts.total();
  });
  py::object result = room_for(total);
  if (total == 0) return result;
  without_gil([&, to = any_array_in(result)->filled->buffer()] { choose(to, total); });
  return result;
}

/// x[mask] of one shape, of elements of 8 bytes at most.
py::object chosen(const ArrayObject& x, const ArrayObject& mask) {
  if (x.size == 0) return new_array(x.backend, py::make_tuple(0), x.stored_as, x.is_complex);
  py::object kept_x, kept_mask;
  const ArrayObject& source = *contiguous(&x, kept_x);
  const Counts counts(*contiguous(&mask, kept_mask));
  // Of complex elements only their size counts.
  const DType moved = x.is_complex ? DType::int64 : x.stored_as;
  const Buffer from = source.buffer();
  return chosen_by(counts, x.backend, {}, x.stored_as, x.is_complex, [&](Buffer to, Size count) {
    counts.backend().compact(counts.mask(), counts.counts(), from, to, counts.size(), count, moved);
  });
}

/// Where a mask is true: an Array with a row for each axis of a shape of its size.
py::object places(const ArrayObject& mask, const Sizes& shape, DType dtype) {
  const std::array<Size, 1> rows{static_cast<Size>(shape.rank)};
  if (mask.size == 0) return new_array(mask.backend, py::make_tuple(shape.rank, 0), dtype);
  py::object kept;
  const Counts counts(*contiguous(&mask, kept));
  return chosen_by(counts, mask.backend, rows, dtype, false, [&](Buffer to, Size count) {
    counts.backend().nonzero(counts.mask(), counts.counts(), to, shape.span(), count, dtype);
  });
}

/// The rows of a matrix as Arrays of their own.
py::tuple rows_of(const py::object& matrix) {
  const ArrayObject& all = *array_in(matrix);
  const Sizes shape(all.shape), strides = strides_of(all);
  py::tuple rows(shape.rank == 2 ? static_cast<std::size_t>(shape[0]) : 0);
  const py::tuple own = py::make_tuple(shape[1]);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Size step = strides[1], start = all.offset + static_cast<Size>(i) * strides[0];
    rows[i] = new_view(all, own, {&step, 1}, start);
  }
  return rows;
}

/// The arrays of indices that a mask of the first axes stands for.
py::tuple by_places(const ArrayObject& mask) {
  const bool is_small = mask.size <= std::numeric_limits<std::int32_t>::max();
  const DType dtype = is_small ? DType::int32 : default_integer(mask.backend);
  return rows_of(places(mask, Sizes(mask.shape), dtype));
}

/// The key as a mask of the first axes of x; null where it is none.
const ArrayObject* mask_in(const ArrayObject& x, PyObject* key) {
  const ArrayObject* const mask = array_in(key);
  if (mask == nullptr || mask->stored_as != DType::boolean || mask->backend != x.backend) {
    return nullptr;
  }
  const Sizes own(mask->shape), shape(x.shape);
  if (own.rank == 0 || own.rank > shape.rank) return nullptr;
  for (std::size_t i = 0; i < own.rank; ++i) {
    if (own[i] != shape[i]) return nullptr;
  }
  return mask;
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

/// The mask with axes of one element behind its own, as many as x has more.
py::object along(const ArrayObject& mask, const ArrayObject& x) {
  Sizes shape(mask.shape), strides = strides_of(mask);
  for (auto more = PyTuple_GET_SIZE(mask.shape); more < PyTuple_GET_SIZE(x.shape); ++more) {
    shape.values[shape.rank++] = 1;
    strides.values[strides.rank++] = 1;
  }
  return new_view(mask, shape.tuple(), strides.span(), mask.offset);
}

/// _chosen(x, mask)
py::object chosen_function(Arguments given) { return chosen(made(given[0]), made(given[1])); }

/// _places(mask, shape, dtype)
py::object places_function(Arguments given) {
  return places(made(given[0]), Sizes(given[1]), to_stored_as(given[2], "nonzero"));
}

/// _place_rows(mask, dtype)
py::object rows_function(Arguments given) {
  const ArrayObject& mask = made(given[0]);
  return rows_of(places(mask, Sizes(mask.shape), to_stored_as(given[1], "nonzero")));
}

PyMethodDef functions[] = {
    fast_function<2, chosen_function>("_chosen",
                                      "_chosen(x: Array, mask: Array) -> Array\n\nx[mask] of one "
                                      "shape, of elements of 8 bytes at "
                                      "most."),
    fast_function<3, places_function>("_places",
                                      "_places(mask: Array, shape: tuple, dtype: numpy.dtype) -> "
                                      "Array\n\nWhere a mask is true, a "
                                      "row for each axis of a shape of its size."),
    fast_function<2, rows_function>("_place_rows",
                                    "_place_rows(mask: Array, dtype: numpy.dtype) -> "
                                    "tuple\n\nWhere a mask is true, an Array for "
                                    "each of its axes."),
};

}  // namespace

py::object take_by_mask(const ArrayObject& x, PyObject* key) {
  const ArrayObject* const mask = mask_in(x, key);
  // In a recording Python says what cannot be read.
  if (mask == nullptr || is_recording_here()) return {};
  constexpr Size most_item = 8;
  const Sizes shape(x.shape);
  const auto axes = static_cast<std::size_t>(PyTuple_GET_SIZE(mask->shape));
  if (axes == shape.rank && x.item_bytes() <= most_item) return chosen(x, *mask);
  const py::tuple rows = by_places(*mask);
  const ArrayObject& first = *array_in(rows[0]);
  if (first.size != 0) {
    if (py::object found = take_by_arrays(x, rows.ptr())) return found;
  }
  return call_python(py::handle(object_of(x)).attr("_take_by"), py::make_tuple(rows));
}

bool put_by_mask(const ArrayObject& x, PyObject* key, PyObject* value) {
  static const ElementFunction& where = *element_function("where");
  const ArrayObject* const mask = mask_in(x, key);
  if (mask == nullptr) return false;
  if (!x.is_complex && is_plain(value, x.stored_as)) {
    py::object wide;
    if (!same_shape(*mask, x)) {
      wide = along(*mask, x);
      key = wide.ptr();
    }
    make_writable(x, "assignment");
    evaluate(where, std::array{key, value, object_of(x)}, object_of(x));
    return true;
  }
  const ArrayObject* const given = any_array_in(value);
  // One that is the same for all of them needs no places.
  if (given == nullptr || (given->size == 1 && PyTuple_GET_SIZE(given->shape) <= 1) ||
      is_recording_here()) {
    return false;
  }
  const py::tuple rows = by_places(*mask);
  if (!put_by_arrays(x, rows.ptr(), value)) {
    call_python(py::handle(object_of(x)).attr("_put_by"), py::make_tuple(rows, py::handle(value)));
  }
  return true;
}

void bind_array_masks(py::module_& m) {
  for (PyMethodDef& one : functions) add_function(m, one);
}

}  // namespace tilewright::bindings
