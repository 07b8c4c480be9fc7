#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/array_elementwise.hpp"
#include "bindings/method.hpp"
#include "bindings/python_call.hpp"
#include "core/text.hpp"

namespace py = pybind11;

// The operators of Arrays, and the elementwise functions as functions of Python.
namespace tilewright::bindings {

namespace {

template <std::size_t N>
struct Name {
  char text[N];
  consteval Name(const char (&given)[N]) { std::copy_n(given, N, text); }
};

template <Name name>
const ElementFunction& named() {
  static const ElementFunction& found = *element_function(name.text);
  return found;
}

template <Name name>
PyObject* unary_slot(PyObject* x) {
  return guarded(static_cast<PyObject*>(nullptr),
                 [&] { return evaluate(named<name>(), std::array{x}, nullptr).release().ptr(); });
}

template <Name name>
PyObject* binary_slot(PyObject* a, PyObject* b) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    return evaluate(named<name>(), std::array{a, b}, nullptr).release().ptr();
  });
}

template <Name name>
PyObject* in_place_slot(PyObject* a, PyObject* b) {
  return guarded(static_cast<PyObject*>(nullptr),
                 [&] { return evaluate(named<name>(), std::array{a, b}, a).release().ptr(); });
}

/// x ** 2 of floats, which is x * x: exact, quicker, and there where a device has no powers.
bool is_square(PyObject* a, PyObject* b) {
  const ArrayObject* const array = array_in(a);
  if (array == nullptr || !PyLong_CheckExact(b)) return false;
  int overflow = 0;
  return is_float(array->stored_as) && PyLong_AsLongAndOverflow(b, &overflow) == 2 && overflow == 0;
}

/// Powers below 0 of integers are no integers; of exponents in memory nobody looks at the sign.
void check_exponent(PyObject* a, PyObject* b) {
  const ArrayObject* const array = array_in(a);
  if (array == nullptr || is_float(array->stored_as) || is_array(b) || !PyIndex_Check(b)) return;
  const auto exponent = py::reinterpret_steal<py::object>(PyNumber_Index(b));
  if (!exponent) return PyErr_Clear();  // an array of more than one number
  int overflow = 0;
  const long value = PyLong_AsLongAndOverflow(exponent.ptr(), &overflow);
  if (overflow < 0 || (overflow == 0 && value < 0)) {
    Argument{"pow", "x2"}.refuse(b, "0 or more as the exponent of integers; floats have others");
  }
}

PyObject* power_slot(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    if (is_square(a, b)) return binary_slot<"multiply">(a, a);
    check_exponent(a, b);
    return binary_slot<"pow">(a, b);
  });
}

PyObject* in_place_power_slot(PyObject* a, PyObject* b, PyObject*) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    if (is_square(a, b)) return in_place_slot<"multiply">(a, a);
    check_exponent(a, b);
    return in_place_slot<"pow">(a, b);
  });
}

PyObject* divmod_slot(PyObject* a, PyObject* b) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    py::object quotient = evaluate(named<"floor_divide">(), std::array{a, b}, nullptr);
    if (quotient.ptr() == Py_NotImplemented) return quotient.release().ptr();
    py::object rest = evaluate(named<"remainder">(), std::array{a, b}, nullptr);
    return py::make_tuple(quotient, rest).release().ptr();
  });
}

PyObject* compare_slot(PyObject* a, PyObject* b, int op) {
  switch (op) {
    case Py_LT:
      return binary_slot<"less">(a, b);
    case Py_LE:
      return binary_slot<"less_equal">(a, b);
    case Py_EQ:
      return binary_slot<"equal">(a, b);
    case Py_NE:
      return binary_slot<"not_equal">(a, b);
    case Py_GT:
      return binary_slot<"greater">(a, b);
    default:
      return binary_slot<"greater_equal">(a, b);
  }
}

template <class F>
void* slot(F* function) {
  return reinterpret_cast<void*>(function);
}

/// What reads calls that are not f(x, y, out=z); for the process.
PyObject* options_reader = nullptr;

[[gnu::cold]] PyObject* with_options(const ElementFunction& f, PyObject* const* given,
                                     Py_ssize_t number, PyObject* keywords) {
  py::tuple positional(number);
  for (Py_ssize_t i = 0; i < number; ++i) positional[i] = py::handle(given[i]);
  py::dict named;
  for (Py_ssize_t i = 0; keywords != nullptr && i < PyTuple_GET_SIZE(keywords); ++i) {
    named[py::handle(PyTuple_GET_ITEM(keywords, i))] = py::handle(given[number + i]);
  }
  return call_python(options_reader, py::make_tuple(py::str(f.name.data(), f.name.size()),
                                                    int{f.operands}, positional, named))
      .release()
      .ptr();
}

PyObject* call_element_function(const ElementFunction& f, PyObject* const* given, Py_ssize_t number,
                                PyObject* keywords) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    PyObject* out = nullptr;
    const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
    if (named == 1 && std::string_view(characters(PyTuple_GET_ITEM(keywords, 0))) == "out") {
      out = given[number];
    } else if (named != 0) {
      return with_options(f, given, number, keywords);
    }
    if (number != f.operands) return with_options(f, given, number, keywords);
    if (f.name == "pow") check_exponent(given[0], given[1]);
    py::object result = evaluate(f, {given, static_cast<std::size_t>(number)}, out);
    if (result.ptr() == Py_NotImplemented) {
      for (std::size_t i = 0; i < f.operands; ++i) {
        if (!is_array(given[i]) && !is_number(given[i])) {
          Argument{f.name.data(), operand_name(f, i)}.refuse(given[i], "an Array or a number");
        }
      }
    }
    return result.release().ptr();
  });
}

/// The elementwise function of this number as a function of Python's own kind.
template <std::size_t index>
PyObject* call_function(PyObject*, PyObject* const* given, Py_ssize_t number, PyObject* keywords) {
  return call_element_function(element_functions()[index], given, number, keywords);
}

template <std::size_t... index>
auto thunks(std::index_sequence<index...>) {
  return std::array{call_function<index>...};
}
}  // namespace

std::span<PyType_Slot> operator_slots() {
  static PyType_Slot slots[] = {
      {Py_nb_add, slot(binary_slot<"add">)},
      {Py_nb_subtract, slot(binary_slot<"subtract">)},
      {Py_nb_multiply, slot(binary_slot<"multiply">)},
      {Py_nb_true_divide, slot(binary_slot<"divide">)},
      {Py_nb_floor_divide, slot(binary_slot<"floor_divide">)},
      {Py_nb_remainder, slot(binary_slot<"remainder">)},
      {Py_nb_divmod, slot(divmod_slot)},
      {Py_nb_power, slot(power_slot)},
      {Py_nb_and, slot(binary_slot<"bitwise_and">)},
      {Py_nb_or, slot(binary_slot<"bitwise_or">)},
      {Py_nb_xor, slot(binary_slot<"bitwise_xor">)},
      {Py_nb_lshift, slot(binary_slot<"bitwise_left_shift">)},
      {Py_nb_rshift, slot(binary_slot<"bitwise_right_shift">)},
      {Py_nb_inplace_add, slot(in_place_slot<"add">)},
      {Py_nb_inplace_subtract, slot(in_place_slot<"subtract">)},
      {Py_nb_inplace_multiply, slot(in_place_slot<"multiply">)},
      {Py_nb_inplace_true_divide, slot(in_place_slot<"divide">)},
      {Py_nb_inplace_floor_divide, slot(in_place_slot<"floor_divide">)},
      {Py_nb_inplace_remainder, slot(in_place_slot<"remainder">)},
      {Py_nb_inplace_power, slot(in_place_power_slot)},
      {Py_nb_inplace_and, slot(in_place_slot<"bitwise_and">)},
      {Py_nb_inplace_or, slot(in_place_slot<"bitwise_or">)},
      {Py_nb_inplace_xor, slot(in_place_slot<"bitwise_xor">)},
      {Py_nb_inplace_lshift, slot(in_place_slot<"bitwise_left_shift">)},
      {Py_nb_inplace_rshift, slot(in_place_slot<"bitwise_right_shift">)},
      {Py_nb_negative, slot(unary_slot<"negative">)},
      {Py_nb_positive, slot(unary_slot<"positive">)},
      {Py_nb_absolute, slot(unary_slot<"abs">)},
      {Py_nb_invert, slot(unary_slot<"bitwise_invert">)},
      {Py_tp_richcompare, slot(compare_slot)},
      {Py_tp_hash, slot(PyObject_HashNotImplemented)},
  };
  return slots;
}

void bind_array_functions(py::module_& m) {
  m.def(
      "_set_options", [](const py::object& function) { options_reader = function.inc_ref().ptr(); },
      py::arg("function"), "What reads calls of elementwise functions with NumPy's options.");
  m.def(
      "_elementwise_functions",
      [] {
        static auto& definitions = *new std::vector<PyMethodDef>();
        static auto& texts = *new std::vector<std::string>();
        const auto all = element_functions();
        static const auto calls = thunks(std::make_index_sequence<element_function_count>());
        py::dict made;
        definitions.resize(all.size());
        texts.resize(all.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
          const ElementFunction& f = all[i];
          std::string parameters;
          for (std::size_t p = 0; p < f.operands; ++p) parameters += text(operand_name(f, p), ", ");
          texts[i] = text(f.name, "(", parameters, "/, *, out=None)\n--\n\n", f.name,
                          " of each element, with broadcasting; into `out` if it is given.");
          definitions[i] = {f.name.data(),
                            reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(calls[i])),
                            METH_FASTCALL | METH_KEYWORDS, texts[i].c_str()};
          const py::str module("tilewright");
          made[f.name.data()] = py::reinterpret_steal<py::object>(
              PyCFunction_NewEx(&definitions[i], nullptr, module.ptr()));
        }
        return made;
      },
      "The elementwise functions by name.");
}

}  // namespace tilewright::bindings
