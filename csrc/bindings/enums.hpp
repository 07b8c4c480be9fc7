#pragma once

#include <pybind11/pybind11.h>

#include "bindings/convert.hpp"
#include "tilewright/device.hpp"
#include "tilewright/types.hpp"

namespace tilewright::bindings {

/// Adds the enums: Python enums whose members are their names, so that "relu" == UnaryOp.relu.
void bind_enums(pybind11::module_& module);

/// The Python member of a value.
template <class Enum>
pybind11::object to_member(Enum value) {
  return enum_class<Enum>(to_str(to_string(value)));
}

}  // namespace tilewright::bindings
