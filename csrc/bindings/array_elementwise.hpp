#pragma once

#include <pybind11/pybind11.h>

#include <span>

#include "bindings/array_rules.hpp"
#include "bindings/operands.hpp"

namespace tilewright::bindings {

/// A function of Arrays, numbers and what of the host can be read, one Array among them at least,
/// in the first Array's backend: the result, or `out` if that is an Array. None of pybind11's
/// objects, but NotImplemented, where an operand is nothing of these.
pybind11::object evaluate(const ElementFunction& function, std::span<PyObject* const> given,
                          PyObject* out);

/// target[...] = value: the value is broadcast and cast.
void assign(const ArrayObject& target, PyObject* value);
/// A number of Python's as assign() takes it; InvalidArgument where the dtype does not hold it.
Number assigned_number(PyObject* number, DType dtype);

/// What messages call an operand of a function.
const char* operand_name(const ElementFunction& function, std::size_t i);
/// Whether it is a number of Python's.
bool is_number(PyObject* given);

/// Whether the device of a backend has a dtype.
bool stores(PyObject* backend, DType dtype);

/// The slots of operators for the class of Arrays, up to one without a slot.
std::span<PyType_Slot> operator_slots();

/// Adds what sets the reader of operands that are neither Arrays nor numbers.
void bind_array_elementwise(pybind11::module_& module);
/// Adds the elementwise functions.
void bind_array_functions(pybind11::module_& module);

}  // namespace tilewright::bindings
