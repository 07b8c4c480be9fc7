#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/program/rules.hpp"
#include "tilewright/program.hpp"

namespace tilewright {

enum class NodeKind : std::uint8_t { input, number, constant, op, cast };

/// One value of a program.
struct ProgramNode {
  NodeKind kind;
  ElementOp op{};  ///< of an op
  DType dtype;
  std::array<std::uint32_t, 3> operands{};  ///< nodes before it, of an op or cast
  /// A constant's bits as an element of its dtype; the place among inputs or numbers.
  std::uint64_t bits = 0;

  bool operator==(const ProgramNode&) const = default;
  std::uint32_t operand_count() const {
    return kind == NodeKind::op ? info_of(op).operands : kind == NodeKind::cast ? 1 : 0;
  }
};

/// A program: each node uses only those before it, and no two are equal.
struct ProgramData {
  std::vector<ProgramNode> nodes;
  std::vector<std::uint32_t> inputs, numbers, outputs;  ///< their nodes, in the order of map()
  std::uint64_t hash = 0;                               ///< of all of that

  bool operator==(const ProgramData& other) const {
    return hash == other.hash && nodes == other.nodes && inputs == other.inputs &&
           numbers == other.numbers && outputs == other.outputs;
  }
  /// For each node, whether an output needs it.
  std::vector<bool> needed() const;
  DType output_dtype(std::size_t output = 0) const { return nodes[outputs[output]].dtype; }
};

using ProgramRef = std::shared_ptr<const ProgramData>;

// Programs made of others.

/// The first input, and its one output.
ProgramRef identity_program(DType dtype);
/// Its one output cast to a dtype.
ProgramRef cast_output(const ProgramRef& program, DType dtype);
/// The first input comes in another dtype, and is cast to its own.
ProgramRef cast_input(const ProgramRef& program, DType from);
/// The first input comes as float32, of which float16 and bfloat16 are a part, and is rounded only
/// where it is an output as it is.
ProgramRef widen_input(const ProgramRef& program);
/// With some of its outputs alone, of the same inputs and numbers.
ProgramRef some_outputs(const ProgramRef& program, std::size_t first, std::size_t count);
/// A program in two: `before` makes what some inputs, the numbers and constants alone come to, with
/// the same inputs and numbers, and `rest` has what that made as further inputs. None where nothing
/// is made of those alone.
struct SplitProgram {
  ProgramRef before, rest;
};
SplitProgram split_program(const ProgramRef& program, const std::vector<bool>& inputs);
/// A constant of these bits in place of the first input.
ProgramRef bind_input(const ProgramRef& program, std::uint64_t bits);
/// The square of what its one output is off one more input, in the dtype of the output's class.
ProgramRef square_off_input(const ProgramRef& program);
/// The first two inputs in each other's place.
ProgramRef swap_inputs(const ProgramRef& program);
/// Two inputs that are the outputs.
ProgramRef pair_program(DType dtype);

}  // namespace tilewright
