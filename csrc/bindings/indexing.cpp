#include "bindings/indexing.hpp"

#include <string>
#include <vector>

#include "bindings/noted_call.hpp"
#include "bindings/operand_list.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {
struct IndexOperands;
}  // namespace

template <>
struct Convert<IndexOperands> {
  static constexpr auto name = py::detail::const_name("Sequence[IndexOperand]");
};

namespace {

using py::arg;

/// The index arrays of one list, and what they look at.
class IndexList {
 public:
  IndexList(py::handle given, const Argument& argument) {
    constexpr std::string_view expected = "a list of (operand, dtype, size, stride, axis)";
    const py::object list = py::reinterpret_borrow<py::object>(given);
    const auto items = items_of(list, argument, expected);
    py::tuple operands(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!PyTuple_Check(items[i]) || PyTuple_GET_SIZE(items[i]) != 5) {
        argument.refuse(items[i], "(operand, dtype, size, stride, axis)");
      }
      operands[i] = py::reinterpret_borrow<py::object>(PyTuple_GET_ITEM(items[i], 0));
      const auto named = [&](const char* what) {
        names_.push_back(std::string(argument.name) + "[" + std::to_string(i) + "]." + what);
        return Argument{argument.call, names_.back().c_str()};
      };
      const auto item = [&](Py_ssize_t place) { return PyTuple_GET_ITEM(items[i], place); };
      indices_.push_back({{},
                          Convert<DType>::from(item(1), named("dtype")),
                          to_size(item(2), named("size")),
                          to_size(item(3), named("stride")),
                          to_size(item(4), named("axis"))});
    }
    operands_.emplace_back(operands, argument);
    for (std::size_t i = 0; i < items.size(); ++i) indices_[i].indices = operands_[0].span()[i];
  }
  std::span<const IndexOperand> span() const { return indices_; }

 private:
  std::vector<std::string> names_;
  std::vector<OperandList> operands_;
  std::vector<IndexOperand> indices_;
};

using MoveCall = void (Backend::*)(const MapOperand&, std::span<const IndexOperand>,
                                   const MapOperand&, std::span<const Size>, DType,
                                   std::string_view);

void def_move(BackendClass& cls, const char* call, MoveCall method, const char* doc) {
  cls.def(
      call,
      [call, method](Self<Backend> self, Given<OneOperand> source, Given<IndexOperands> indices,
                     Given<OneOperand> output, Given<std::span<const Size>> shape,
                     Given<DType> dtype, Given<std::string> name) {
        const OperandList from = one_operand(source.object, {call, "source", self.object});
        const IndexList by(indices.object, {call, "indices", self.object});
        const OperandList to = one_operand(output.object, {call, "output", self.object});
        const std::vector<Size> sizes = to_sizes(shape.object, {call, "shape"});
        const DType moved = Convert<DType>::from(dtype.object, {call, "dtype"});
        const std::string called = to_string(name.object, {call, "name"});
        without_gil([&] {
          call_op(*self, method, from.span()[0], by.span(), to.span()[0], sizes, moved, called);
        });
      },
      arg("source"), arg("indices"), arg("output"), arg("shape"), arg("dtype") = "float32",
      arg("name") = "", doc);
}

void concat(Self<Backend> self, Given<MapOperands> inputs, Given<std::span<const Size>> sizes,
            Given<OneOperand> output, Given<std::span<const Size>> shape, Given<Size> axis,
            Given<DType> dtype) {
  constexpr const char* call = "concat";
  const OperandList from(inputs.object, {call, "inputs", self.object});
  // There may be more than a shape has.
  const Argument of_sizes{call, "sizes"};
  const py::object list = py::reinterpret_borrow<py::object>(sizes.object);
  std::vector<Size> of_each;
  for (PyObject* one : items_of(list, of_sizes, "a list of sizes")) {
    of_each.push_back(to_size(one, of_sizes));
  }
  const OperandList to = one_operand(output.object, {call, "output", self.object});
  const std::vector<Size> whole = to_sizes(shape.object, {call, "shape"});
  const Size along = to_size(axis.object, {call, "axis"});
  const DType moved = Convert<DType>::from(dtype.object, {call, "dtype"});
  without_gil([&] {
    call_op(*self, &Backend::concat, from.span(), of_each, to.span()[0], whole, along, moved);
  });
}

}  // namespace

void bind_indexing(BackendClass& cls) {
  def_move(cls, "gather_elements", &Backend::gather_elements,
           "output[p] = source[p + the steps that the indices at p make].");
  def_move(cls, "scatter_elements", &Backend::scatter_elements,
           "output[p + the steps that the indices at p make] = source[p].");
  cls.def("concat", &concat, arg("inputs"), arg("sizes"), arg("output"), arg("shape"), arg("axis"),
          arg("dtype") = "float32", "The inputs one after the other along an axis of `shape`.");
}

}  // namespace tilewright::bindings
