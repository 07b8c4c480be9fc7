#pragma once

#include <pybind11/pybind11.h>

#include <span>

#include "bindings/operands.hpp"
#include "tilewright/program.hpp"

// How Arrays of any strides meet map(), and what makes them contiguous.
namespace tilewright::bindings {

/// The strides of an Array in elements.
Sizes strides_of(const ArrayObject& array);
/// The strides that walk it as an array of shape `to`, which it broadcasts to.
Sizes strides_as(const ArrayObject& array, const Sizes& to);

/// Whether the bytes from the first to the last element of both meet.
bool overlap(const ArrayObject& a, const ArrayObject& b);

/// Runs a program on the elements of `out`, with inputs that broadcast to its shape, as if all were
/// read before any is written.
void map_arrays(const Program& program, std::span<const ArrayObject* const> inputs,
                std::span<const Number> numbers, const ArrayObject& out);

/// A new Array with the same elements, row by row.
pybind11::object copied(const ArrayObject& array);

}  // namespace tilewright::bindings
