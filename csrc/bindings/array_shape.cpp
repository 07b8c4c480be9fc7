#include "bindings/array_shape.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

#include "bindings/array_map.hpp"
#include "bindings/method.hpp"
#include "bindings/python_call.hpp"
#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

using Axes = std::array<std::size_t, max_rank>;
using Steps = std::array<Size, max_rank>;

/// Whether it is a tuple of integers that fit 64 bits, as many as `sizes` has room for at most.
bool read(PyObject* given, Steps& sizes) {
  if (!PyTuple_CheckExact(given) || PyTuple_GET_SIZE(given) > Py_ssize_t{max_rank}) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given); ++i) {
    PyObject* const item = PyTuple_GET_ITEM(given, i);
    int overflow = 0;
    if (!PyLong_CheckExact(item)) return false;
    sizes[static_cast<std::size_t>(i)] = PyLong_AsLongLongAndOverflow(item, &overflow);
    if (overflow != 0) return false;
  }
  return true;
}

/// A view with the axes in the order that `order` says.
py::object in_order(const ArrayObject& array, const Axes& order, std::size_t rank) {
  const Sizes strides = strides_of(array);
  Steps steps;
  py::tuple shape(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    PyObject* const size = PyTuple_GET_ITEM(array.shape, static_cast<Py_ssize_t>(order[i]));
    PyTuple_SET_ITEM(shape.ptr(), static_cast<Py_ssize_t>(i), Py_NewRef(size));
    steps[i] = strides[order[i]];
  }
  return new_view(array, shape, std::span(steps).first(rank), array.offset);
}

std::size_t rank_of(const ArrayObject& array) {
  return static_cast<std::size_t>(PyTuple_GET_SIZE(array.shape));
}

/// Fills in a size of -1; false where the shape has not as many elements as the Array.
bool complete(std::span<Size> sizes, Size elements) {
  Size known = 1;
  Size* unknown = nullptr;
  for (Size& size : sizes) {
    if (size == -1 && unknown == nullptr) {
      unknown = &size;
    } else if (size < 0 || __builtin_mul_overflow(known, size, &known)) {
      return false;
    }
  }
  if (unknown == nullptr) return known == elements;
  if (known == 0 || elements % known != 0) return false;
  *unknown = elements / known;
  return true;
}

/// The strides that walk the Array, which has elements, as `sizes`; false where there are none.
bool find_strides(const ArrayObject& array, std::span<const Size> sizes, Steps& steps) {
  const Sizes strides = strides_of(array);
  const std::size_t rank = rank_of(array);
  // Old dimensions that lie one within the other are one; each of these is cut anew.
  struct Block {
    Size size, stride;
  };
  std::array<Block, max_rank> blocks;
  std::size_t count = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    const Size size = PyLong_AsLongLong(PyTuple_GET_ITEM(array.shape, static_cast<Py_ssize_t>(i)));
    if (size == 1) continue;
    if (count > 0 && blocks[count - 1].stride == size * strides[i]) {
      blocks[count - 1] = {blocks[count - 1].size * size, strides[i]};
    } else {
      blocks[count++] = {size, strides[i]};
    }
  }
  std::size_t at = 0;
  for (const Block& block : std::span(blocks).first(count)) {
    const std::size_t first = at;
    Size covered = 1;
    while (covered < block.size && at < sizes.size()) covered *= sizes[at++];
    if (covered != block.size) return false;
    Size step = block.stride;
    for (std::size_t i = at; i-- > first;) {
      steps[i] = step;
      step *= sizes[i];
    }
  }
  std::fill(steps.begin() + static_cast<std::ptrdiff_t>(at), steps.end(), 1);
  return true;
}

}  // namespace

PyObject* ndim_property(PyObject* self, void*) {
  return guarded(static_cast<PyObject*>(nullptr),
                 [&] { return PyLong_FromSsize_t(PyTuple_GET_SIZE(made(self).shape)); });
}

PyObject* itemsize_property(PyObject* self, void*) {
  return guarded(static_cast<PyObject*>(nullptr),
                 [&] { return PyLong_FromLongLong(made(self).item_bytes()); });
}

PyObject* nbytes_property(PyObject* self, void*) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    const ArrayObject& array = made(self);
    return PyLong_FromLongLong(array.size * array.item_bytes());
  });
}

PyObject* transposed_property(PyObject* self, void*) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    const ArrayObject& array = made(self);
    const std::size_t rank = rank_of(array);
    Axes order;
    for (std::size_t i = 0; i < rank; ++i) order[i] = rank - 1 - i;
    return in_order(array, order, rank).release().ptr();
  });
}

PyObject* matrix_transposed_property(PyObject* self, void*) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    const ArrayObject& array = made(self);
    const std::size_t rank = rank_of(array);
    if (rank < 2) {
      throw InvalidArgument(
          text("mT: the array has shape ", shown(array.shape), ", expected 2 dimensions at least"));
    }
    Axes order;
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::swap(order[rank - 1], order[rank - 2]);
    return in_order(array, order, rank).release().ptr();
  });
}

PyObject* permuted_method(PyObject* self, PyObject* axes) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    const ArrayObject& array = made(self);
    const std::size_t rank = rank_of(array);
    Steps given;
    if (!read(axes, given) || static_cast<std::size_t>(PyTuple_GET_SIZE(axes)) != rank) {
      Argument{"permuted", "axes"}.refuse(axes, "a tuple of all axes");
    }
    Axes order;
    std::array<bool, max_rank> is_taken{};
    for (std::size_t i = 0; i < rank; ++i) {
      const Size axis = given[i];
      if (axis < 0 || axis >= static_cast<Size>(rank) || is_taken[static_cast<std::size_t>(axis)]) {
        Argument{"permuted", "axes"}.refuse(axes, "each axis once");
      }
      order[i] = static_cast<std::size_t>(axis);
      is_taken[order[i]] = true;
    }
    return in_order(array, order, rank).release().ptr();
  });
}

PyObject* broadcast_method(PyObject* self, PyObject* given) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    const ArrayObject& array = made(self);
    Steps sizes;
    if (!read(given, sizes)) return Py_NewRef(Py_None);
    const Sizes own(array.shape), shape(given);
    bool fits = own.rank <= shape.rank;
    for (std::size_t i = 0; i < shape.rank; ++i) fits = fits && shape[i] >= 0;
    for (std::size_t i = 1; fits && i <= own.rank; ++i) {
      const Size size = own[own.rank - i];
      fits = size == 1 || size == shape[shape.rank - i];
    }
    if (!fits) return Py_NewRef(Py_None);
    const Sizes strides = strides_as(array, shape);
    return new_view(array, given, strides.span(), array.offset).release().ptr();
  });
}

PyObject* reshaped_method(PyObject* self, PyObject* given) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    const ArrayObject& array = made(self);
    Steps sizes, steps;
    if (!read(given, sizes)) return Py_NewRef(Py_None);
    const std::span<Size> shape =
        std::span(sizes).first(static_cast<std::size_t>(PyTuple_GET_SIZE(given)));
    if (!complete(shape, array.size)) return Py_NewRef(Py_None);
    if (array.size == 0) {
      std::fill(steps.begin(), steps.end(), 1);  // which nothing is walked by
    } else if (!find_strides(array, shape, steps)) {
      return Py_NewRef(Py_None);
    }
    py::tuple names(shape.size());
    for (std::size_t i = 0; i < shape.size(); ++i) {
      PyObject* const size = PyLong_FromLongLong(shape[i]);
      if (size == nullptr) throw py::error_already_set();
      PyTuple_SET_ITEM(names.ptr(), static_cast<Py_ssize_t>(i), size);
    }
    return new_view(array, names, std::span(steps).first(shape.size()), array.offset)
        .release()
        .ptr();
  });
}

}  // namespace tilewright::bindings
