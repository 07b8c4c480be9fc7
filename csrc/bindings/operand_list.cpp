#include "bindings/operand_list.hpp"

#include <optional>

#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

std::span<PyObject* const> items_of(py::handle given, const Argument& argument,
                                    std::string_view expected) {
  if (!PyList_Check(given.ptr()) && !PyTuple_Check(given.ptr())) argument.refuse(given, expected);
  return {PySequence_Fast_ITEMS(given.ptr()),
          static_cast<std::size_t>(PySequence_Fast_GET_SIZE(given.ptr()))};
}

OperandList::OperandList(py::handle given, const Argument& argument) {
  // A tuple of what was given cannot change while its items are converted.
  if (!PyList_Check(given.ptr()) && !PyTuple_Check(given.ptr())) {
    argument.refuse(given, "a list of buffers, Arrays or (buffer, strides, offset)");
  }
  items_ = py::reinterpret_steal<py::object>(PySequence_Tuple(given.ptr()));
  const auto items = items_of(items_, argument, "");
  given_.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    given_.emplace_back(items[i], argument, static_cast<Py_ssize_t>(i));
  }
  operands_.assign(given_.begin(), given_.end());
}

void OperandList::check(const Argument& argument, const Program& program,
                        std::vector<std::uint32_t> ProgramData::* places) const {
  const ProgramData& data = *program.data();
  const std::vector<std::uint32_t>& nodes = data.*places;
  for (std::size_t i = 0; i < given_.size() && i < nodes.size(); ++i) {
    const std::optional<DType> own = given_[i].dtype();
    const DType wanted = data.nodes[nodes[i]].dtype;
    if (!own || *own == wanted) continue;
    throw InvalidArgument(text(argument.call, ": ", argument.name, "[", i, "] is an Array of ",
                               to_string(*own), ", and the program has ", to_string(wanted),
                               " there; write .astype(\"", to_string(wanted),
                               "\"), or let the program cast"));
  }
}

OperandList one_operand(py::handle given, const Argument& argument) {
  return {py::make_tuple(py::reinterpret_borrow<py::object>(given)), argument};
}

}  // namespace tilewright::bindings
