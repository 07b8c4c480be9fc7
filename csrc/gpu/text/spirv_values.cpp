#include "gpu/text/spirv_values.hpp"

#include <array>
#include <string_view>

#include "core/text.hpp"
#include "gpu/spirv_kernels.hpp"

namespace tilewright::gpu {

using Id = SpirvWriter::Id;

const SpirvLibrary& program_library() {
  static const SpirvLibrary functions(spirv_functions("program_functions"));
  return functions;
}

Id spirv_of_words(SpirvWriter& w, ComputeClass kind, Id low, Id high) {
  switch (kind) {
    case ComputeClass::boolean:
      return w.call("cast_u32_bool", {low});
    case ComputeClass::f32:
      return w.value(SpirvOp::bitcast, w.type(SpirvOp::type_float, {32}), {low});
    case ComputeClass::i32:
    case ComputeClass::u32:
      return low;
    default:
      break;
  }
  const Id u64 = w.type(SpirvOp::type_int, {64, 0});
  const Id upper = w.value(SpirvOp::convert_u, u64, {high});
  const Id shifted = w.value(SpirvOp::shift_left, u64, {upper, w.constant(u64, {32, 0})});
  const Id lower = w.value(SpirvOp::convert_u, u64, {low});
  const Id whole = w.value(SpirvOp::bitwise_or, u64, {lower, shifted});
  if (kind != ComputeClass::f64) return whole;
  return w.value(SpirvOp::bitcast, w.type(SpirvOp::type_float, {64}), {whole});
}

Id spirv_constant(SpirvWriter& w, ComputeClass kind, std::uint64_t bits) {
  const auto low = static_cast<std::uint32_t>(bits), high = static_cast<std::uint32_t>(bits >> 32);
  switch (kind) {
    case ComputeClass::boolean:
      return w.boolean(bits != 0);
    case ComputeClass::i32:
    case ComputeClass::u32:
      return w.constant(w.type(SpirvOp::type_int, {32, 0}), {low});
    case ComputeClass::f32:
      return w.constant(w.type(SpirvOp::type_float, {32}), {low});
    case ComputeClass::f64:
      return w.constant(w.type(SpirvOp::type_float, {64}), {low, high});
    default:
      return w.constant(w.type(SpirvOp::type_int, {64, 0}), {low, high});
  }
}

Id spirv_op(SpirvWriter& w, const ProgramData& program, const ProgramNode& node,
            std::span<const Id> values) {
  std::array<Id, 3> operands{};
  for (std::uint32_t o = 0; o < node.operand_count(); ++o) operands[o] = values[node.operands[o]];
  const auto class_of_operand = [&](std::uint32_t o) {
    return to_string(class_of(program.nodes[node.operands[o]].dtype));
  };
  if (node.kind == NodeKind::cast) {
    return w.call(text("cast_", class_of_operand(0), "_", to_string(node.dtype)), {operands[0]});
  }
  const ElementOpInfo& info = info_of(node.op);
  const std::string_view kind = class_of_operand(info.rule == OpRule::select ? 1 : 0);
  const Id result =
      w.call(text("op_", info.name, "_", kind), std::span<const Id>(operands).first(info.operands));
  const bool wraps =
      (class_of(node.dtype) == ComputeClass::i32 || class_of(node.dtype) == ComputeClass::u32) &&
      size_of(node.dtype) < sizeof(std::uint32_t);
  if (!wraps) return result;
  return w.call(text("cast_", to_string(class_of(node.dtype)), "_", to_string(node.dtype)),
                {result});
}

}  // namespace tilewright::gpu
