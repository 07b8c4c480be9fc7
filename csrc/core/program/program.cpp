#include "tilewright/program.hpp"

#include <algorithm>
#include <utility>

#include "core/program/program_data.hpp"
#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace tilewright {

namespace {

// What a program may have, far beyond what one launch can hold.
constexpr std::size_t most_nodes = 4096;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t with) {
  hash ^= with + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdu;
}

std::uint64_t hash_of(const ProgramNode& node) {
  std::uint64_t hash = static_cast<std::uint64_t>(node.kind) << 16 |
                       static_cast<std::uint64_t>(node.op) << 8 |
                       static_cast<std::uint64_t>(node.dtype);
  for (const std::uint32_t operand : node.operands) hash = mixed(hash, operand);
  return mixed(hash, node.bits);
}

void check_dtype(DType dtype, std::string_view name) {
  if (static_cast<std::size_t>(dtype) >= EnumNames<DType>::values.size()) {
    throw InvalidArgument(text("program: ", name, " is not a dtype"));
  }
}

ElementOp known_op(std::string_view name) {
  const std::optional<ElementOp> op = element_op(name);
  if (!op) {
    throw InvalidArgument(
        text("program: there is no elementwise op \"", name, "\"; Program::ops() lists them"));
  }
  return *op;
}

const ProgramNode& node_of(const ProgramData& data, Program::Value value) {
  const auto at = static_cast<std::uint32_t>(value);
  if (at >= data.nodes.size()) {
    throw InvalidArgument(text("program: value ", at, " is not one of this program's ",
                               data.nodes.size(), " values"));
  }
  return data.nodes[at];
}

/// The node, where it is there already, or a new one.
Program::Value with(std::shared_ptr<const ProgramData>& data, const ProgramNode& node) {
  const auto& nodes = data->nodes;
  const auto same = std::find(nodes.begin(), nodes.end(), node);
  if (same != nodes.end()) return static_cast<Program::Value>(same - nodes.begin());
  if (nodes.size() >= most_nodes) {
    throw InvalidArgument(text("program: it has ", nodes.size(),
                               " values already, which is the most; run it in several parts"));
  }
  auto changed = std::make_shared<ProgramData>(*data);
  const auto at = static_cast<std::uint32_t>(changed->nodes.size());
  changed->nodes.push_back(node);
  if (node.kind == NodeKind::input) changed->inputs.push_back(at);
  if (node.kind == NodeKind::number) changed->numbers.push_back(at);
  changed->hash = mixed(changed->hash, hash_of(node));
  data = std::move(changed);
  return static_cast<Program::Value>(at);
}

std::vector<DType> dtypes_of(const ProgramData& data, const std::vector<std::uint32_t>& which) {
  std::vector<DType> dtypes;
  for (const std::uint32_t at : which) dtypes.push_back(data.nodes[at].dtype);
  return dtypes;
}

}  // namespace

std::vector<bool> ProgramData::needed() const {
  std::vector<bool> all(nodes.size());
  for (const std::uint32_t output : outputs) all[output] = true;
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (!all[i]) continue;
    for (std::uint32_t o = 0; o < nodes[i].operand_count(); ++o) all[nodes[i].operands[o]] = true;
  }
  return all;
}

Program::Program() : data_(std::make_shared<ProgramData>()) {}
Program::Program(const Program&) = default;
// What was moved from stays a program.
Program::Program(Program&& other) noexcept : data_(other.data_) {}
Program& Program::operator=(const Program&) = default;
Program& Program::operator=(Program&& other) noexcept {
  data_ = other.data_;
  return *this;
}
Program::~Program() = default;

Program::Value Program::input(DType dtype) {
  check_dtype(dtype, "the dtype of an input");
  return with(data_, {.kind = NodeKind::input, .dtype = dtype, .bits = data_->inputs.size()});
}

Program::Value Program::number(DType dtype) {
  check_dtype(dtype, "the dtype of a number");
  return with(data_, {.kind = NodeKind::number, .dtype = dtype, .bits = data_->numbers.size()});
}

Program::Value Program::constant(const Number& value, DType dtype) {
  check_dtype(dtype, "the dtype of a constant");
  return with(data_, {.kind = NodeKind::constant,
                      .dtype = dtype,
                      .bits = value.bits(dtype, "program: the constant")});
}

Program::Value Program::apply(std::string_view op, std::span<const Value> operands) {
  const ElementOp known = known_op(op);
  std::vector<DType> dtypes;
  for (const Value operand : operands) dtypes.push_back(node_of(*data_, operand).dtype);
  ProgramNode node{.kind = NodeKind::op, .op = known, .dtype = result_of(known, dtypes)};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    node.operands[i] = static_cast<std::uint32_t>(operands[i]);
  }
  return with(data_, node);
}

Program::Value Program::cast(Value value, DType dtype) {
  check_dtype(dtype, "the dtype of a cast");
  if (node_of(*data_, value).dtype == dtype) return value;
  return with(
      data_,
      {.kind = NodeKind::cast, .dtype = dtype, .operands = {static_cast<std::uint32_t>(value)}});
}

void Program::output(Value value) {
  node_of(*data_, value);
  if (data_->outputs.size() >= most_nodes) {
    throw InvalidArgument(
        text("program: it has ", data_->outputs.size(), " outputs already, which is the most"));
  }
  auto changed = std::make_shared<ProgramData>(*data_);
  changed->outputs.push_back(static_cast<std::uint32_t>(value));
  changed->hash = mixed(changed->hash, ~static_cast<std::uint64_t>(value));
  data_ = std::move(changed);
}

DType Program::dtype(Value value) const { return node_of(*data_, value).dtype; }
std::vector<DType> Program::inputs() const { return dtypes_of(*data_, data_->inputs); }
std::vector<DType> Program::numbers() const { return dtypes_of(*data_, data_->numbers); }
std::vector<DType> Program::outputs() const { return dtypes_of(*data_, data_->outputs); }

std::string Program::listing() const {
  std::string all;
  for (std::size_t i = 0; i < data_->nodes.size(); ++i) {
    const ProgramNode& node = data_->nodes[i];
    all += text("v", i, ": ", to_string(node.dtype), " = ");
    switch (node.kind) {
      case NodeKind::input:
        all += text("input ", node.bits);
        break;
      case NodeKind::number:
        all += text("number ", node.bits);
        break;
      case NodeKind::constant:
        all += text("constant of bits ", node.bits);
        break;
      case NodeKind::cast:
        all += text("cast(v", node.operands[0], ")");
        break;
      case NodeKind::op:
        all += text(info_of(node.op).name, "(");
        for (std::uint32_t o = 0; o < node.operand_count(); ++o) {
          all += text(o > 0 ? ", v" : "v", node.operands[o]);
        }
        all += ")";
        break;
    }
    all += "\n";
  }
  for (std::size_t i = 0; i < data_->outputs.size(); ++i) {
    all += text("output ", i, " = v", data_->outputs[i], "\n");
  }
  return all;
}

std::vector<std::string_view> Program::ops() {
  std::vector<std::string_view> names;
  for (const ElementOpInfo& op : element_ops()) names.push_back(op.name);
  return names;
}

std::size_t Program::operands(std::string_view op) { return info_of(known_op(op)).operands; }

}  // namespace tilewright
