#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tilewright/types.hpp"

namespace tilewright {

/// The elementwise ops of programs, one for each line of elementwise.def.
enum class ElementOp : std::uint8_t {
#define OP(name, operands, rule, spelling) name##_,
#include "core/program/elementwise.def"
#undef OP
};

/// What a value is computed in: small integers in 32 bits, wrapped to their own after each op, and
/// float16 and bfloat16 in float32, rounded where they are stored.
enum class ComputeClass : std::uint8_t { boolean, i32, u32, i64, u64, f32, f64 };

template <>
struct EnumNames<ComputeClass> {
  static constexpr std::string_view kind = "class";
  static constexpr std::array<std::string_view, 7> values{"bool", "i32", "u32", "i64",
                                                          "u64",  "f32", "f64"};
};

ComputeClass class_of(DType dtype) noexcept;

/// The dtype of that class that has all of its values: uint32 for bool.
DType dtype_of(ComputeClass kind) noexcept;

/// What a reduction starts with, as a value of the class of the dtype, of which it is an element:
/// joined with anything it leaves that as it is. Not for argmax and argmin.
std::uint64_t identity_bits(Reduction op, DType dtype) noexcept;

/// Which dtypes an op takes, and what it gives.
enum class OpRule : std::uint8_t {
  numeric,  ///< all of one dtype, which is not bool; gives the same
  real,     ///< the same for floats
  whole,    ///< the same for integers
  bits,     ///< the same for integers and bool
  test,     ///< of a float; gives bool
  compare,  ///< two of one dtype; gives bool
  order,    ///< the same for all but bool
  select,   ///< bool and two of one dtype; gives that dtype
};

struct ElementOpInfo {
  std::string_view name;
  std::uint32_t operands;
  OpRule rule;
  std::string_view spelling;
};

std::span<const ElementOpInfo> element_ops() noexcept;
inline const ElementOpInfo& info_of(ElementOp op) {
  return element_ops()[static_cast<std::size_t>(op)];
}
std::optional<ElementOp> element_op(std::string_view name) noexcept;

/// The dtype of the result; InvalidArgument where these operands do not fit the op.
DType result_of(ElementOp op, std::span<const DType> operands);

}  // namespace tilewright
