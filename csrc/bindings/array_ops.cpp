#include "bindings/array_ops.hpp"

#include "bindings/matmul.hpp"
#include "bindings/method.hpp"
#include "bindings/noted_call.hpp"
#include "bindings/operands.hpp"
#include "bindings/python_call.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

/// _unary(op, x, out)
py::object unary(PyObject* self, Arguments given) {
  const char* call = characters(given[0]);
  const auto op = Convert<UnaryOp>::from(given[0], {call, "op"});
  Backend& backend = backend_of(self);
  const Operands<1> x(self, call, {"x"}, {given[1]});
  Result out(self, call, given[2], x[0].shape, x[0].stored_as);
  without_gil([&, from = x[0].buffer(), to = out->buffer(), n = x[0].size, dtype = x[0].stored_as] {
    call_op(backend, &Backend::unary, op, from, to, n, dtype);
  });
  return out.release();
}

py::object broadcast_binary(PyObject* self, const char* call, BinaryOp op, const ArrayObject& a,
                            const ArrayObject& b, PyObject* given_out) {
  Backend& backend = backend_of(self);
  const Sizes shape_a(a.shape), shape_b(b.shape);
  const Sizes shape = broadcast(call, shape_a, shape_b);
  const Sizes strides_a = broadcast_strides(shape_a, shape);
  const Sizes strides_b = broadcast_strides(shape_b, shape);
  const py::tuple result_shape = shape.tuple();
  // An input that is walked out of order must not be written on the way.
  std::array<const ArrayObject*, 2> apart{};
  if (!result_shape.equal(py::handle(a.shape))) apart[0] = &a;
  if (!result_shape.equal(py::handle(b.shape))) apart[1] = &b;
  Result out(self, call, given_out, result_shape, a.stored_as, apart);
  without_gil(
      [&, from_a = a.buffer(), from_b = b.buffer(), to = out->buffer(), dtype = a.stored_as] {
        call_op(backend, &Backend::binary_broadcast, op, from_a, strides_a.span(), from_b,
                strides_b.span(), to, shape.span(), dtype);
      });
  return out.release();
}

bool is_number(PyObject* given) { return PyFloat_CheckExact(given) || PyLong_CheckExact(given); }

/// The op of an Array and a number of Python's; null for what is neither.
py::object scalar_binary(PyObject* self, const char* call, BinaryOp op, PyObject* a, PyObject* b,
                         PyObject* given_out) {
  const bool first = is_number(a);
  if (first == is_number(b)) return {};
  PyObject* const array = first ? b : a;
  PyObject* const number = first ? a : b;
  if (!all_ready(self, {&array, 1})) return {};
  const double value = PyFloat_AsDouble(number);
  if (value == -1.0 && PyErr_Occurred() != nullptr) {
    // An int that no float reaches.
    forget_error();
    return {};
  }
  Backend& backend = backend_of(self);
  py::object kept;
  const ArrayObject& x = *contiguous(array_in(array), kept);
  Result out(self, call, given_out, x.shape, x.stored_as);
  without_gil([&, from = x.buffer(), to = out->buffer(), n = x.size, dtype = x.stored_as] {
    call_op(backend, &Backend::binary_scalar, op, from, value, to, n, first, dtype);
  });
  return out.release();
}

/// _binary(call, op, a, b, out)
py::object binary(PyObject* self, Arguments given) {
  const char* call = characters(given[0]);
  const auto op = Convert<BinaryOp>::from(given[1], {call, "op"});
  if (py::object done = scalar_binary(self, call, op, given[2], given[3], given[4])) return done;
  Backend& backend = backend_of(self);
  const Operands<2> x(self, call, {"a", "b"}, {given[2], given[3]});
  if (!same_shape(x[0], x[1])) {
    return broadcast_binary(self, call, op, x[0], x[1], given[4]);
  }
  Result out(self, call, given[4], x[0].shape, x[0].stored_as);
  without_gil(
      [&, a = x[0].buffer(), b = x[1].buffer(), to = out->buffer(), n = x[0].size,
       dtype = x[0].stored_as] { call_op(backend, &Backend::binary, op, a, b, to, n, dtype); });
  return out.release();
}

/// _softmax(x, axis, out) and _log_softmax(x, axis, out)
template <bool log>
py::object softmax(PyObject* self, Arguments given) {
  constexpr const char* call = log ? "log_softmax" : "softmax";
  Backend& backend = backend_of(self);
  const Operands<1> x(self, call, {"x"}, {given[0]});
  const Size axis = to_size(given[1], {call, "axis"});
  const Sizes shape(x[0].shape);
  Result out(self, call, given[2], x[0].shape, x[0].stored_as);
  without_gil([&, from = x[0].buffer(), to = out->buffer(), dtype = x[0].stored_as] {
    call_op(backend, &Backend::softmax, from, to, shape.span(), axis, dtype, log);
  });
  return out.release();
}

template <std::size_t count, py::object (*function)(PyObject*, Arguments)>
PyMethodDef method(const char* name, const char* doc) {
  return {name,
          reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(fast_method<count, function>)),
          METH_FASTCALL, doc};
}

PyMethodDef methods[] = {
    method<3, unary>("_unary", "_unary(self, op: str, x: object, out: object) -> Array"),
    method<5, binary>(
        "_binary", "_binary(self, call: str, op: str, a: object, b: object, out: object) -> Array"),
    method<3, softmax<false>>("_softmax",
                              "_softmax(self, x: object, axis: object, out: object) -> Array"),
    method<3, softmax<true>>("_log_softmax",
                             "_log_softmax(self, x: object, axis: object, out: object) -> Array"),
    method<9, matmul>(
        "_matmul",
        "_matmul(self, a: object, b: object, transpose_a: object, transpose_b: object, alpha: "
        "object, beta: object, precision: object, out_dtype: object, out: object) -> Array")};

}  // namespace

void bind_array_ops(BackendClass& cls) {
  for (PyMethodDef& one : methods) add_method(cls, one);
}

}  // namespace tilewright::bindings
