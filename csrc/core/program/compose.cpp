#include "core/program/compose.hpp"

#include <bit>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "core/small_floats.hpp"

namespace tilewright {

namespace {

/// The number that a constant is.
Number number_of(const ProgramNode& constant) {
  const auto low = static_cast<std::uint32_t>(constant.bits);
  switch (constant.dtype) {
    case DType::float16:
      return double{float_of_half(low)};
    case DType::bfloat16:
      return double{std::bit_cast<float>(low << 16)};
    case DType::float32:
      return double{std::bit_cast<float>(low)};
    case DType::float64:
      return std::bit_cast<double>(constant.bits);
    case DType::int8:
    case DType::int16:
    case DType::int32:
    case DType::int64: {
      const int unused = 64 - static_cast<int>(8 * size_of(constant.dtype));
      return static_cast<std::int64_t>(constant.bits << unused) >> unused;
    }
    default:
      return constant.bits;
  }
}

}  // namespace

Program::Value compose(Program& program, Program::Value value, const ProgramData& behind) {
  if (behind.inputs.size() != 1 || behind.outputs.size() != 1 || !behind.numbers.empty()) {
    throw std::logic_error("a program that is composed has one input, one output and no numbers");
  }
  std::vector<Program::Value> made;
  for (const ProgramNode& node : behind.nodes) {
    std::vector<Program::Value> operands;
    for (std::uint32_t o = 0; o < node.operand_count(); ++o) {
      operands.push_back(made[node.operands[o]]);
    }
    switch (node.kind) {
      case NodeKind::input:
      case NodeKind::number:
        made.push_back(program.cast(value, node.dtype));
        break;
      case NodeKind::constant:
        made.push_back(program.constant(number_of(node), node.dtype));
        break;
      case NodeKind::cast:
        made.push_back(program.cast(operands[0], node.dtype));
        break;
      case NodeKind::op:
        made.push_back(program.apply(info_of(node.op).name, operands));
        break;
    }
  }
  return made[behind.outputs[0]];
}

}  // namespace tilewright
