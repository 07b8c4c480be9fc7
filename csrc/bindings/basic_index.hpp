#pragma once

#include <pybind11/pybind11.h>

#include <span>

#include "bindings/operands.hpp"

namespace tilewright::bindings {

/// Whether an item of an index is an integer, a slice, Ellipsis or None.
bool is_basic(PyObject* item);

/// What such items make of an Array: the shape of a view, and how it lies in the memory.
struct BasicIndex {
  BasicIndex(const ArrayObject& array, std::span<PyObject* const> items);

  Sizes shape, strides;
  Size offset = 0;
};

}  // namespace tilewright::bindings
