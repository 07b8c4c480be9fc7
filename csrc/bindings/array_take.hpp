#pragma once

#include <pybind11/pybind11.h>

#include <string_view>

#include "bindings/array.hpp"

// Elements by arrays of indices or one mask on the device. namespace/indexing.py has all other
// keys, and the words for what is wrong.
namespace tilewright::bindings {

/// x[key]; none where the key is more than a mask, or than arrays of integers, slices, integers and
/// new axes, or something is wrong.
pybind11::object take_by_arrays(const ArrayObject& x, PyObject* key,
                                std::string_view call = "x[...]");
/// x[key] = value; false, with nothing done, where the key is more than that, or the value more
/// than a number or an Array that fits as it is.
bool put_by_arrays(const ArrayObject& x, PyObject* key, PyObject* value);

void bind_array_take(pybind11::module_& m);

}  // namespace tilewright::bindings
