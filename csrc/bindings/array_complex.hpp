#pragma once

#include <pybind11/pybind11.h>

#include <span>

#include "bindings/array.hpp"
#include "bindings/array_rules.hpp"

// Complex Arrays: elements are pairs of real ones, of which Python's programs take the parts.
namespace tilewright::bindings {

/// Whether it is a complex Array, or a complex number of Python's.
bool is_complex(PyObject* given) noexcept;

/// A function where an operand or `out` is complex.
pybind11::object evaluate_complex(const ElementFunction& function, std::span<PyObject* const> given,
                                  PyObject* out);
/// target[...] = value, where one of them is complex.
void assign_complex(const ArrayObject& target, PyObject* value);

/// A view of complex elements as real ones, with a last axis of two.
pybind11::object parts_view(const ArrayObject& array);

/// The way back: a complex view of pairs along the last axis.
pybind11::object paired(const ArrayObject& array);

/// Methods of Arrays: parts_view(), one of the parts, and the way back; and functions of complex
/// ones alone.
PyObject* parts_method(PyObject* self, PyObject*);
PyObject* part_method(PyObject* self, PyObject* which);
PyObject* paired_method(PyObject* self, PyObject*);
PyObject* conj_method(PyObject* self, PyObject*);
PyObject* angle_method(PyObject* self, PyObject*);

/// Adds what sets Python's side of functions and assignments.
void bind_array_complex(pybind11::module_& module);

}  // namespace tilewright::bindings
