#pragma once

#include <pybind11/pybind11.h>

#include "bindings/array.hpp"

// Elements by arrays of indices or one mask on the device. namespace/indexing.py has all other
// keys, and the words for what is wrong.
namespace tilewright::bindings {

/// x[key]; none where the key is more than an array of integers, or a tuple of some of one shape,
/// or something is wrong.
pybind11::object take_by_arrays(const ArrayObject& x, PyObject* key);
/// x[key] = value; false, with nothing done, where the key is more than that or a mask of all
/// elements, or the value more than a number or an Array that fits as it is.
bool put_by_arrays(const ArrayObject& x, PyObject* key, PyObject* value);

}  // namespace tilewright::bindings
