#include "core/program/rules.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <limits>
#include <string>

#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace tilewright {

namespace {

constexpr ElementOpInfo ops[] = {
#define OP(name, operands, rule, spelling) {#name, operands, OpRule::rule, #spelling},
#include "core/program/elementwise.def"
#undef OP
};

bool is_float(DType dtype) {
  return class_of(dtype) == ComputeClass::f32 || class_of(dtype) == ComputeClass::f64;
}
bool is_bool(DType dtype) { return dtype == DType::boolean; }

bool takes(OpRule rule, DType dtype) {
  switch (rule) {
    case OpRule::numeric:
    case OpRule::order:
      return !is_bool(dtype);
    case OpRule::real:
    case OpRule::test:
      return is_float(dtype);
    case OpRule::whole:
      return !is_float(dtype) && !is_bool(dtype);
    case OpRule::bits:
      return !is_float(dtype);
    case OpRule::compare:
    case OpRule::select:
      return true;
  }
  return false;
}

std::string_view taken(OpRule rule) {
  switch (rule) {
    case OpRule::numeric:
    case OpRule::order:
      return "numbers";
    case OpRule::real:
    case OpRule::test:
      return "a float dtype";
    case OpRule::whole:
      return "an integer dtype";
    case OpRule::bits:
      return "an integer dtype or bool";
    case OpRule::compare:
    case OpRule::select:
      return "any dtype";
  }
  return "";
}

}  // namespace

ComputeClass class_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::boolean:
      return ComputeClass::boolean;
    case DType::int8:
    case DType::int16:
    case DType::int32:
      return ComputeClass::i32;
    case DType::uint8:
    case DType::uint16:
    case DType::uint32:
      return ComputeClass::u32;
    case DType::int64:
      return ComputeClass::i64;
    case DType::uint64:
      return ComputeClass::u64;
    case DType::float16:
    case DType::bfloat16:
    case DType::float32:
      return ComputeClass::f32;
    case DType::float64:
      return ComputeClass::f64;
  }
  return ComputeClass::f32;
}

DType dtype_of(ComputeClass kind) noexcept {
  constexpr std::array<DType, 7> dtypes{DType::uint32, DType::int32,   DType::uint32, DType::int64,
                                        DType::uint64, DType::float32, DType::float64};
  return dtypes[static_cast<std::size_t>(kind)];
}

std::uint64_t identity_bits(Reduction op, DType dtype) noexcept {
  const ComputeClass kind = class_of(dtype);
  const bool single = kind == ComputeClass::f32, real = single || kind == ComputeClass::f64;
  if (op == Reduction::sum || op == Reduction::moments) return 0;
  if (op == Reduction::prod) {
    if (!real) return 1;
    return single ? std::bit_cast<std::uint32_t>(1.0f) : std::bit_cast<std::uint64_t>(1.0);
  }
  const bool least = op == Reduction::max;
  if (real) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const double end = least ? -infinity : infinity;
    return single ? std::bit_cast<std::uint32_t>(static_cast<float>(end))
                  : std::bit_cast<std::uint64_t>(end);
  }
  if (kind == ComputeClass::boolean) return least ? 0 : 1;
  const std::size_t digits = 8 * size_of(dtype);
  const std::uint64_t most = ~std::uint64_t{0} >> (64 - digits);
  if (kind == ComputeClass::u32 || kind == ComputeClass::u64) return least ? 0 : most;
  // Of a small integer with its sign, as its class has it.
  if (!least) return most >> 1;
  const std::uint64_t bits = ~(most >> 1);
  return kind == ComputeClass::i32 ? bits & 0xffffffff : bits;
}

std::span<const ElementOpInfo> element_ops() noexcept { return ops; }

std::optional<ElementOp> element_op(std::string_view name) noexcept {
  for (std::size_t i = 0; i < std::size(ops); ++i) {
    if (ops[i].name == name) return static_cast<ElementOp>(i);
  }
  return std::nullopt;
}

DType result_of(ElementOp op, std::span<const DType> operands) {
  const ElementOpInfo& info = info_of(op);
  if (operands.size() != info.operands) {
    throw InvalidArgument(text("program: ", info.name, " has ", operands.size(),
                               " operands, expected ", info.operands));
  }
  const std::size_t first = info.rule == OpRule::select ? 1 : 0;
  if (first == 1 && operands[0] != DType::boolean) {
    throw InvalidArgument(text("program: the first operand of ", info.name, " is ",
                               to_string(operands[0]),
                               ", expected bool; compare it with 0, or cast it"));
  }
  for (std::size_t i = first; i < operands.size(); ++i) {
    if (!takes(info.rule, operands[i])) {
      throw InvalidArgument(text("program: operand ", i, " of ", info.name, " is ",
                                 to_string(operands[i]), ", expected ", taken(info.rule),
                                 "; cast it"));
    }
    if (operands[i] != operands[first]) {
      throw InvalidArgument(text("program: the operands of ", info.name, " are ",
                                 to_string(operands[first]), " and ", to_string(operands[i]),
                                 ", expected one dtype; cast one of them"));
    }
  }
  switch (info.rule) {
    case OpRule::test:
    case OpRule::compare:
    case OpRule::order:
      return DType::boolean;
    default:
      return operands[first];
  }
}

}  // namespace tilewright
