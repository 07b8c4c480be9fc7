#include <optional>
#include <type_traits>

#include "bindings/backend.hpp"
#include "bindings/strided.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

using py::arg;

// Defaults as Python shows them.
template <class Enum>
  requires std::is_enum_v<Enum>
py::object shown(Enum value) {
  return py::str(std::string(to_string(value)));
}
py::object shown(bool flag) { return py::bool_(flag); }
py::object shown(Size size) { return py::int_(size); }
py::object shown(double number) { return py::float_(number); }
py::object shown(const Pair& pair) { return py::make_tuple(pair[0], pair[1]); }
py::object shown(std::nullopt_t) { return py::none(); }

/// Of a T, or of an optional one that is not given.
template <class T>
py::arg_v with_default(const char* name, const std::remove_cvref_t<T>& value) {
  return {name, shown(value)};
}
template <class T>
py::arg_v with_default(const char* name, std::nullopt_t value) {
  return {name, shown(value)};
}

}  // namespace

void bind_ops(BackendClass& cls) {
#include "op_bindings.inc"
}

}  // namespace tilewright::bindings
