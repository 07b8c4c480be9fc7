#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "core/program/program_data.hpp"

namespace tilewright::cpu {

/// Reads the program of a step of rows, of float32: what is the element, and what a fold found.
class RowReader {
 public:
  /// Of a program whose operands are `inputs`, before what folds found.
  RowReader(const ProgramData& program, std::size_t inputs) : program_(program), inputs_(inputs) {}

  /// The element, widened where it has 16 bits.
  bool is_element(std::uint32_t node) const {
    const ProgramNode& one = program_.nodes[node];
    if (one.kind == NodeKind::cast) {
      return one.dtype == DType::float32 && is_input(one.operands[0], 0) &&
             program_.nodes[one.operands[0]].dtype == DType::float16;
    }
    return one.dtype == DType::float32 && is_input(node, 0);
  }
  bool is_found(std::uint32_t node, std::size_t fold) const {
    return is_input(node, inputs_ + fold);
  }
  /// The operand that a node reads as it is.
  std::optional<std::size_t> operand(std::uint32_t node) const {
    const ProgramNode& one = program_.nodes[node];
    if (one.kind != NodeKind::input || one.dtype != DType::float32 || one.bits >= inputs_)
      return {};
    return static_cast<std::size_t>(one.bits);
  }
  /// The operands of an op of float32; null of anything else.
  const std::uint32_t* of(std::uint32_t node, ElementOp op) const {
    const ProgramNode& one = program_.nodes[node];
    const bool is_op = one.kind == NodeKind::op && one.op == op && one.dtype == DType::float32;
    return is_op ? one.operands.data() : nullptr;
  }
  /// A number of the call, or a constant.
  std::optional<float> number(std::uint32_t node, std::span<const std::uint64_t> numbers) const {
    const ProgramNode& one = program_.nodes[node];
    const bool is_given = one.kind == NodeKind::number;
    if ((!is_given && one.kind != NodeKind::constant) || one.dtype != DType::float32) return {};
    const std::uint64_t bits = is_given ? numbers[static_cast<std::size_t>(one.bits)] : one.bits;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  /// What the output is, before it is rounded to 16 bits.
  std::uint32_t result() const {
    const std::uint32_t last = program_.outputs[0];
    const ProgramNode& one = program_.nodes[last];
    const bool is_rounded = one.kind == NodeKind::cast && one.dtype == DType::float16;
    return is_rounded ? one.operands[0] : last;
  }

 private:
  bool is_input(std::uint32_t node, std::size_t at) const {
    return program_.nodes[node].kind == NodeKind::input && program_.nodes[node].bits == at;
  }

  const ProgramData& program_;
  const std::size_t inputs_;
};

}  // namespace tilewright::cpu
