#pragma once

#include <pybind11/pybind11.h>

#include "bindings/array.hpp"

// What masks choose. How much that is the device says, so all of this waits for it, but for what is
// the same for all that a mask chooses.
namespace tilewright::bindings {

/// x[mask]; none where the key is no mask of x's first axes on its device.
pybind11::object take_by_mask(const ArrayObject& x, PyObject* key);
/// x[mask] = value; false, with nothing done, where the key is no such mask, or the value more than
/// a number or an Array that fits as it is.
bool put_by_mask(const ArrayObject& x, PyObject* key, PyObject* value);

/// Adds what masks choose, and where they are true.
void bind_array_masks(pybind11::module_& module);

}  // namespace tilewright::bindings
