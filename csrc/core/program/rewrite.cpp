#include <algorithm>
#include <array>
#include <utility>

#include "core/program/program_data.hpp"

namespace tilewright {

namespace {

/// Nodes in a new order: to(node) is where each is, or what stands in its place.
template <class To>
void renumber(ProgramData& data, const To& to) {
  for (ProgramNode& node : data.nodes) {
    for (std::uint32_t o = 0; o < node.operand_count(); ++o)
      node.operands[o] = to(node.operands[o]);
  }
  for (std::uint32_t& output : data.outputs) output = to(output);
}

ProgramRef finished(ProgramData data, std::uint64_t salt) {
  data.hash = (data.hash ^ salt) * 0x9e3779b97f4a7c15u;
  return std::make_shared<const ProgramData>(std::move(data));
}

}  // namespace

ProgramRef identity_program(DType dtype) {
  static const auto& kept = *[] {
    auto* all = new std::array<ProgramRef, EnumNames<DType>::values.size()>();
    for (std::size_t i = 0; i < all->size(); ++i) {
      Program program;
      program.output(program.input(static_cast<DType>(i)));
      (*all)[i] = program.data();
    }
    return all;
  }();
  return kept[static_cast<std::size_t>(dtype)];
}

ProgramRef cast_output(const ProgramRef& program, DType dtype) {
  if (program->output_dtype() == dtype) return program;
  ProgramData data = *program;
  data.nodes.push_back({.kind = NodeKind::cast, .dtype = dtype, .operands = {data.outputs[0]}});
  data.outputs[0] = static_cast<std::uint32_t>(data.nodes.size() - 1);
  return finished(std::move(data), 1 + static_cast<std::uint64_t>(dtype));
}

ProgramRef cast_input(const ProgramRef& program, DType from) {
  const std::uint32_t at = program->inputs[0];
  const DType to = program->nodes[at].dtype;
  if (from == to) return program;
  ProgramData data = *program;
  data.nodes[at].dtype = from;
  // The cast comes right behind, and all others move on by one.
  renumber(data, [&](std::uint32_t node) { return node >= at ? node + 1 : node; });
  for (std::uint32_t& input : data.inputs) input += input > at ? 1 : 0;
  for (std::uint32_t& number : data.numbers) number += number > at ? 1 : 0;
  data.nodes.insert(data.nodes.begin() + at + 1,
                    {.kind = NodeKind::cast, .dtype = to, .operands = {at}});
  return finished(std::move(data), 100 + static_cast<std::uint64_t>(from));
}

ProgramRef widen_input(const ProgramRef& program) {
  const std::uint32_t at = program->inputs[0];
  const DType to = program->nodes[at].dtype;
  if (to == DType::float32) return program;
  ProgramData data = *program;
  data.nodes[at].dtype = DType::float32;
  const auto last = static_cast<std::uint32_t>(data.nodes.size());
  data.nodes.push_back({.kind = NodeKind::cast, .dtype = to, .operands = {at}});
  for (std::uint32_t& output : data.outputs) output = output == at ? last : output;
  return finished(std::move(data), 300 + static_cast<std::uint64_t>(to));
}

ProgramRef some_outputs(const ProgramRef& program, std::size_t first, std::size_t count) {
  ProgramData data = *program;
  const auto begin = program->outputs.begin() + static_cast<std::ptrdiff_t>(first);
  data.outputs.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
  return finished(std::move(data), 300 + first * program->outputs.size() + count);
}

SplitProgram split_program(const ProgramRef& program, const std::vector<bool>& inputs) {
  const std::size_t count = program->nodes.size();
  const std::vector<bool> needed = program->needed();
  std::vector<bool> early(count), made(count), taken(count);
  for (std::size_t i = 0; i < count; ++i) {
    const ProgramNode& node = program->nodes[i];
    early[i] = node.kind != NodeKind::input || inputs[node.bits];
    for (std::uint32_t o = 0; o < node.operand_count(); ++o) {
      early[i] = early[i] && early[node.operands[o]];
    }
    // Values go from one to the other as their class has them.
    const bool is_wide = node.dtype == dtype_of(class_of(node.dtype));
    made[i] = early[i] && node.operand_count() > 0 && is_wide && needed[i];
  }
  for (std::size_t i = 0; i < count; ++i) {
    const ProgramNode& node = program->nodes[i];
    if (early[i] || !needed[i]) continue;
    for (std::uint32_t o = 0; o < node.operand_count(); ++o) {
      taken[node.operands[o]] = made[node.operands[o]];
    }
  }
  for (const std::uint32_t output : program->outputs) taken[output] = made[output];
  if (std::ranges::find(taken, true) == taken.end()) return {};
  ProgramData before = *program, rest = *program;
  before.outputs.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!taken[i]) continue;
    before.outputs.push_back(i);
    rest.nodes[i] = {
        .kind = NodeKind::input, .dtype = rest.nodes[i].dtype, .bits = rest.inputs.size()};
    rest.inputs.push_back(i);
  }
  std::uint64_t salt = 400;
  for (const bool is : inputs) salt = salt * 2 + (is ? 1 : 0);
  return {finished(std::move(before), salt), finished(std::move(rest), ~salt)};
}

ProgramRef bind_input(const ProgramRef& program, std::uint64_t bits) {
  ProgramData data = *program;
  ProgramNode& node = data.nodes[data.inputs[0]];
  node = {.kind = NodeKind::constant, .dtype = node.dtype, .bits = bits};
  data.inputs.erase(data.inputs.begin());
  for (const std::uint32_t input : data.inputs) data.nodes[input].bits -= 1;
  return finished(std::move(data), 200 + bits);
}

ProgramRef square_off_input(const ProgramRef& program) {
  const DType dtype = dtype_of(class_of(program->output_dtype()));
  ProgramData data = *cast_output(program, dtype);
  const auto add = [&](const ProgramNode& node) {
    data.nodes.push_back(node);
    return static_cast<std::uint32_t>(data.nodes.size() - 1);
  };
  const std::uint32_t middle =
      add({.kind = NodeKind::input, .dtype = dtype, .bits = data.inputs.size()});
  data.inputs.push_back(middle);
  const std::uint32_t off = add({.kind = NodeKind::op,
                                 .op = ElementOp::sub_,
                                 .dtype = dtype,
                                 .operands = {data.outputs[0], middle}});
  data.outputs[0] =
      add({.kind = NodeKind::op, .op = ElementOp::mul_, .dtype = dtype, .operands = {off, off}});
  return finished(std::move(data), 500);
}

ProgramRef swap_inputs(const ProgramRef& program) {
  ProgramData data = *program;
  std::swap(data.inputs[0], data.inputs[1]);
  std::swap(data.nodes[data.inputs[0]].bits, data.nodes[data.inputs[1]].bits);
  return finished(std::move(data), 501);
}

ProgramRef pair_program(DType dtype) {
  Program program;
  const Program::Value first = program.input(dtype), second = program.input(dtype);
  program.output(first);
  program.output(second);
  return program.data();
}

}  // namespace tilewright
