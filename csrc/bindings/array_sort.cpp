#include "bindings/array_sort.hpp"

#include "bindings/array_arguments.hpp"
#include "bindings/noted_call.hpp"
#include "bindings/operands.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

/// _sorted(x, axis, descending, are_places): in order along the last axis.
py::object sorted(Arguments given) {
  const ArrayObject* const x = array_in(given[0]);
  if (x == nullptr || x->size == 0 || !PyBool_Check(given[2])) return py::none();
  const Sizes shape(x->shape);
  const auto axis = axis_in(given[1], shape.rank);
  if (!axis || *axis + 1 != shape.rank) return py::none();
  const bool descending = given[2] == Py_True, are_places = given[3] == Py_True;
  py::object copy;
  const ArrayObject& source = *contiguous(x, copy);
  const DType places = default_integer(x->backend);
  // A copy is put in order where it is.
  py::object result = copy && !are_places
                          ? copy
                          : new_array(x->backend, x->shape, are_places ? places : x->stored_as);
  const Size length = shape[*axis], rows = x->size / length;
  Backend& backend = backend_of(x->backend);
  without_gil([&, from = source.buffer(), to = array_in(result)->buffer(), dtype = x->stored_as] {
    if (are_places) {
      call_op(backend, &Backend::argsort, from, to, rows, length, descending, dtype, places);
    } else {
      call_op(backend, &Backend::sort, from, to, rows, length, descending, dtype);
    }
  });
  return result;
}

PyMethodDef function = fast_function<4, sorted>(
    "_sorted",
    "_sorted(x: object, axis: object, descending: object, are_places: bool) -> Array | None\n\nThe "
    "elements in order along the last axis, or their places. None where an argument is not of the "
    "common kind, or wrong.");

}  // namespace

void bind_array_sort(py::module_& m) { add_function(m, function); }

}  // namespace tilewright::bindings
