#include "bindings/program.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/noted_call.hpp"
#include "bindings/operand_list.hpp"
#include "bindings/self.hpp"
#include "tilewright/program.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

using py::arg;

struct Groups;
struct Numbers;
struct OneNumber;
struct RowFolds;

}  // namespace

// What the parameters below are called in signatures.
template <>
struct Convert<Groups> {
  static constexpr auto name = py::detail::const_name("Sequence[MapGroup]");
};
template <>
struct Convert<Numbers> {
  static constexpr auto name = py::detail::const_name("Sequence[float]");
};
template <>
struct Convert<RowFolds> {
  static constexpr auto name = py::detail::const_name("Sequence[tuple]");
};
template <>
struct Convert<Program> {
  static constexpr auto name = py::detail::const_name("ProgramBase");
};

template <>
struct Convert<OneNumber> {
  static constexpr auto name = py::detail::const_name("float");
};

namespace {

Number to_number(py::handle given, const Argument& argument) {
  if (PyBool_Check(given.ptr())) return given.ptr() == Py_True;
  if (PyFloat_CheckExact(given.ptr())) return PyFloat_AS_DOUBLE(given.ptr());
  if (PyIndex_Check(given.ptr())) {
    const py::object whole =
        py::reinterpret_steal<py::object>(call_python([&] { return PyNumber_Index(given.ptr()); }));
    if (!whole) {
      forget_error();
      argument.refuse(given, "a number");
    }
    int overflow = 0;
    const std::int64_t value = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
    if (overflow == 0) return value;
    const std::uint64_t natural = PyLong_AsUnsignedLongLong(whole.ptr());
    if (PyErr_Occurred() == nullptr) return natural;
    forget_error();
    argument.refuse(given, "an integer of at most 64 bits");
  }
  return to_double(given, argument);
}

void map(Self<Backend> self, Given<Program> program, Given<std::span<const Size>> shape,
         Given<MapOperands> inputs, Given<Numbers> numbers, Given<MapOperands> outputs) {
  constexpr const char* call = "map";
  const Program* given = instance_of<Program>(program.object);
  if (given == nullptr) Argument{call, "program"}.refuse(program.object, "a Program");
  // What another thread adds to the program from here on is not part of this call.
  const Program one = *given;
  const std::vector<Size> sizes = to_sizes(shape.object, {call, "shape"});
  const OperandList from(inputs.object, {call, "inputs", self.object}, one, &ProgramData::inputs);
  std::vector<Number> values;
  const Argument named{call, "numbers"};
  const py::object list = py::reinterpret_borrow<py::object>(numbers.object);
  for (PyObject* item : items_of(list, named, "a list of numbers")) {
    values.push_back(to_number(item, named));
  }
  const OperandList to(outputs.object, {call, "outputs", self.object}, one, &ProgramData::outputs);
  without_gil([&] { call_op(*self, &Backend::map, one, sizes, from.span(), values, to.span()); });
}

const Program& to_program(py::handle given, const char* call, const char* name) {
  const Program* program = instance_of<Program>(given);
  if (program == nullptr) Argument{call, name}.refuse(given, "a Program");
  return *program;
}

std::vector<Number> to_numbers(py::handle given, const Argument& argument) {
  std::vector<Number> values;
  const py::object list = py::reinterpret_borrow<py::object>(given);
  for (PyObject* item : items_of(list, argument, "a list of numbers")) {
    values.push_back(to_number(item, argument));
  }
  return values;
}

/// One of the groups of map_many, and what its spans look at.
class GroupOfLists {
 public:
  GroupOfLists(py::handle given, const Argument& argument, std::size_t at, const Program& program) {
    const std::string name = std::string(argument.name) + "[" + std::to_string(at) + "]";
    const Argument named{argument.call, name.c_str()};
    if (!PyTuple_Check(given.ptr()) || PyTuple_GET_SIZE(given.ptr()) != 3) {
      named.refuse(given, "(length, inputs, outputs)");
    }
    const auto part = [&](Py_ssize_t i) { return py::handle(PyTuple_GET_ITEM(given.ptr(), i)); };
    const std::string length_name = name + ".length", input_name = name + ".inputs",
                      output_name = name + ".outputs";
    length_ = to_size(part(0), {argument.call, length_name.c_str()});
    inputs_.emplace(part(1), Argument{argument.call, input_name.c_str(), argument.backend}, program,
                    &ProgramData::inputs);
    outputs_.emplace(part(2), Argument{argument.call, output_name.c_str(), argument.backend},
                     program, &ProgramData::outputs);
  }
  operator MapGroup() const { return {length_, inputs_->span(), outputs_->span()}; }

 private:
  Size length_;
  std::optional<OperandList> inputs_, outputs_;
};

void map_many(Self<Backend> self, Given<Program> program, Given<Groups> groups,
              Given<Numbers> numbers) {
  constexpr const char* call = "map_many";
  const Program one = to_program(program.object, call, "program");
  const Argument argument{call, "groups", self.object};
  // A tuple of what was given cannot change while its items are converted.
  if (!PyList_Check(groups.object.ptr()) && !PyTuple_Check(groups.object.ptr())) {
    argument.refuse(groups.object, "a list of (length, inputs, outputs)");
  }
  const auto items = py::reinterpret_steal<py::object>(PySequence_Tuple(groups.object.ptr()));
  std::vector<GroupOfLists> lists;
  std::vector<MapGroup> all;
  lists.reserve(static_cast<std::size_t>(PyTuple_GET_SIZE(items.ptr())));
  for (PyObject* item : items_of(items, argument, "")) {
    lists.emplace_back(item, argument, lists.size(), one);
  }
  all.assign(lists.begin(), lists.end());
  const std::vector<Number> values = to_numbers(numbers.object, {call, "numbers"});
  without_gil([&] { self->map_many(one, all, values); });
}

void map_reduce(Self<Backend> self, Given<Program> program, Given<Reduction> op,
                Given<std::span<const Size>> shape, Given<std::span<const Size>> axes,
                Given<MapOperands> inputs, Given<Numbers> numbers, Given<MapOperands> outputs,
                Given<std::optional<Program>> behind, Given<MapOperands> behind_inputs,
                Given<Numbers> behind_numbers) {
  constexpr const char* call = "map_reduce";
  // What another thread adds to the programs from here on is not part of this call.
  const Program front = to_program(program.object, call, "program");
  std::optional<Program> last;
  if (!behind.object.is_none()) last = to_program(behind.object, call, "behind");
  const Reduction reduction = Convert<Reduction>::from(op.object, {call, "op"});
  const std::vector<Size> sizes = to_sizes(shape.object, {call, "shape"});
  const std::vector<Size> gone = to_sizes(axes.object, {call, "axes"});
  const OperandList from(inputs.object, {call, "inputs", self.object}, front, &ProgramData::inputs);
  const std::vector<Number> values = to_numbers(numbers.object, {call, "numbers"});
  const OperandList to(outputs.object, {call, "outputs", self.object});
  if (last) to.check({call, "outputs"}, *last, &ProgramData::outputs);
  const OperandList others(behind_inputs.object, {call, "behind_inputs", self.object});
  const std::vector<Number> more = to_numbers(behind_numbers.object, {call, "behind_numbers"});
  without_gil([&] {
    call_op(*self, &Backend::map_reduce, front, reduction, sizes, gone, from.span(), values,
            to.span(), last ? &*last : nullptr, others.span(), more);
  });
}

/// A fold of map_rows: (op, program) or (op, program, numbers).
struct RowFoldGiven {
  RowFoldGiven(py::handle given, std::size_t i) {
    constexpr const char* call = "map_rows";
    const std::string name = "folds[" + std::to_string(i) + "]";
    const Argument named{call, name.c_str()};
    const py::object list = py::reinterpret_borrow<py::object>(given);
    const auto parts = items_of(list, named, "an op, a Program and perhaps numbers");
    if (parts.size() != 2 && parts.size() != 3) {
      named.refuse(given, "an op, a Program and perhaps numbers");
    }
    op = Convert<Reduction>::from(parts[0], named);
    const Program* one = instance_of<Program>(parts[1]);
    if (one == nullptr) named.refuse(parts[1], "a Program");
    program = *one;
    if (parts.size() == 3) numbers = to_numbers(parts[2], named);
  }

  Reduction op{};
  Program program;
  std::vector<Number> numbers;
};

void map_rows(Self<Backend> self, Given<RowFolds> folds, Given<std::span<const Size>> shape,
              Given<std::span<const Size>> axes, Given<MapOperands> inputs,
              Given<std::optional<Program>> elements, Given<Numbers> numbers,
              Given<MapOperands> outputs, Given<std::optional<Program>> ends,
              Given<Numbers> end_numbers, Given<MapOperands> end_outputs) {
  constexpr const char* call = "map_rows";
  std::vector<RowFoldGiven> given;
  const py::object list = py::reinterpret_borrow<py::object>(folds.object);
  for (PyObject* item : items_of(list, {call, "folds"}, "a list of folds")) {
    given.emplace_back(item, given.size());
  }
  std::optional<Program> last, behind;
  if (!elements.object.is_none()) last = to_program(elements.object, call, "elements");
  if (!ends.object.is_none()) behind = to_program(ends.object, call, "ends");
  const std::vector<Size> sizes = to_sizes(shape.object, {call, "shape"});
  const std::vector<Size> gone = to_sizes(axes.object, {call, "axes"});
  const OperandList from(inputs.object, {call, "inputs", self.object});
  const std::vector<Number> values = to_numbers(numbers.object, {call, "numbers"});
  const OperandList to(outputs.object, {call, "outputs", self.object});
  const std::vector<Number> more = to_numbers(end_numbers.object, {call, "end_numbers"});
  const OperandList ends_to(end_outputs.object, {call, "end_outputs", self.object});
  std::vector<RowFold> all;
  for (const RowFoldGiven& one : given) all.push_back({one.op, &one.program, one.numbers});
  const Argument read{call, "inputs"}, written{call, "outputs"}, ended{call, "end_outputs"};
  for (const RowFoldGiven& one : given) from.check(read, one.program, &ProgramData::inputs);
  if (last) from.check(read, *last, &ProgramData::inputs);
  if (last) to.check(written, *last, &ProgramData::outputs);
  if (behind) ends_to.check(ended, *behind, &ProgramData::outputs);
  without_gil([&] {
    call_op(*self, &Backend::map_rows, all, sizes, gone, from.span(),
            {last ? &*last : nullptr, values}, to.span(), {behind ? &*behind : nullptr, more},
            ends_to.span());
  });
}

void scan(Self<Backend> self, Given<Program> program, Given<ScanOp> op,
          Given<std::span<const Size>> shape, Given<Size> axis, Given<MapOperands> inputs,
          Given<Numbers> numbers, Given<OneOperand> output, Given<bool> exclusive,
          Given<bool> reverse) {
  constexpr const char* call = "scan";
  const Program front = to_program(program.object, call, "program");
  const ScanOp kind = Convert<ScanOp>::from(op.object, {call, "op"});
  const std::vector<Size> sizes = to_sizes(shape.object, {call, "shape"});
  const Size along = to_size(axis.object, {call, "axis"});
  const OperandList from(inputs.object, {call, "inputs", self.object}, front, &ProgramData::inputs);
  const std::vector<Number> values = to_numbers(numbers.object, {call, "numbers"});
  const OperandList to = one_operand(output.object, {call, "output", self.object});
  const bool without = to_bool(exclusive.object, {call, "exclusive"});
  const bool back = to_bool(reverse.object, {call, "reverse"});
  without_gil([&] {
    call_op(*self, &Backend::scan, front, kind, sizes, along, from.span(), values, to.span()[0],
            without, back);
  });
}

Program::Value to_value(py::handle given, const char* call, const char* name) {
  const Size value = to_size(given, {call, name});
  return static_cast<Program::Value>(value < 0 || value > UINT32_MAX ? UINT32_MAX : value);
}

std::uint32_t number_of(Program::Value value) { return static_cast<std::uint32_t>(value); }

py::tuple names(const std::vector<DType>& dtypes) {
  py::tuple all(dtypes.size());
  for (std::size_t i = 0; i < dtypes.size(); ++i)
    all[i] = enum_class<DType>(to_str(to_string(dtypes[i])));
  return all;
}

}  // namespace

void bind_program(py::module_& m, BackendClass& cls) {
  py::class_<Program> program(m, "ProgramBase",
                              "An elementwise computation; its values are numbers here.");
  program.def(py::init<>());
  program.def(
      "_input",
      [](Self<Program> self, Given<DType> dtype) {
        return number_of(self->input(Convert<DType>::from(dtype.object, {"input", "dtype"})));
      },
      arg("dtype"));
  program.def(
      "_number",
      [](Self<Program> self, Given<DType> dtype) {
        return number_of(self->number(Convert<DType>::from(dtype.object, {"number", "dtype"})));
      },
      arg("dtype"));
  program.def(
      "_constant",
      [](Self<Program> self, Given<OneNumber> value, Given<DType> dtype) {
        return number_of(self->constant(to_number(value.object, {"constant", "value"}),
                                        Convert<DType>::from(dtype.object, {"constant", "dtype"})));
      },
      arg("value"), arg("dtype"));
  program.def(
      "_apply",
      [](Self<Program> self, Given<std::string> op, Given<std::span<const Size>> operands) {
        std::vector<Program::Value> values;
        for (const Size value : to_sizes(operands.object, {"apply", "operands"})) {
          values.push_back(
              static_cast<Program::Value>(value < 0 || value > UINT32_MAX ? UINT32_MAX : value));
        }
        return number_of(self->apply(to_string(op.object, {"apply", "op"}), values));
      },
      arg("op"), arg("operands"));
  program.def(
      "_cast",
      [](Self<Program> self, Given<Size> value, Given<DType> dtype) {
        return number_of(self->cast(to_value(value.object, "cast", "value"),
                                    Convert<DType>::from(dtype.object, {"cast", "dtype"})));
      },
      arg("value"), arg("dtype"));
  program.def(
      "_output",
      [](Self<Program> self, Given<Size> value) {
        self->output(to_value(value.object, "output", "value"));
      },
      arg("value"));
  program.def(
      "_dtype",
      [](Self<Program> self, Given<Size> value) {
        return enum_class<DType>(
            to_str(to_string(self->dtype(to_value(value.object, "dtype", "value")))));
      },
      arg("value"));
  program.def_property_readonly(
      "inputs", [](Self<Program> self) { return names(self->inputs()); },
      "The dtypes of the inputs.");
  program.def_property_readonly(
      "numbers", [](Self<Program> self) { return names(self->numbers()); },
      "The dtypes of the numbers.");
  program.def_property_readonly(
      "outputs", [](Self<Program> self) { return names(self->outputs()); },
      "The dtypes of the outputs.");
  program.def("__str__", [](Self<Program> self) { return to_str(self->listing()); });
  program.def_static(
      "ops",
      [] {
        py::list all;
        for (const std::string_view name : Program::ops()) all.append(to_str(name));
        return all;
      },
      "The names of all elementwise ops.");
  program.def_static(
      "_operands",
      [](Given<std::string> op) {
        return Program::operands(to_string(op.object, {"operands", "op"}));
      },
      arg("op"));
  cls.def("map", &map, arg("program"), arg("shape"), arg("inputs"), arg("numbers"), arg("outputs"),
          "Runs a program for each element of a shape.");
  cls.def("map_many", &map_many, arg("program"), arg("groups"), arg("numbers"),
          "Runs a program over groups of operands, each of a length of its own.");
  cls.def("map_reduce", &map_reduce, arg("program"), arg("op"), arg("shape"), arg("axes"),
          arg("inputs"), arg("numbers"), arg("outputs"), arg("behind") = py::none(),
          arg("behind_inputs") = py::tuple(), arg("behind_numbers") = py::tuple(),
          "Reduces what a program makes of each element along some axes, which the outputs lack.");
  cls.def("map_rows", &map_rows, arg("folds"), arg("shape"), arg("axes"), arg("inputs"),
          arg("elements"), arg("numbers"), arg("outputs"), arg("ends") = py::none(),
          arg("end_numbers") = py::tuple(), arg("end_outputs") = py::tuple(),
          "Reduces each row and maps its elements with what was found.");
  cls.def("scan", &scan, arg("program"), arg("op"), arg("shape"), arg("axis"), arg("inputs"),
          arg("numbers"), arg("output"), arg("exclusive") = false, arg("reverse") = false,
          "Joins what a program makes of each element with all before it along an axis.");
}

}  // namespace tilewright::bindings
