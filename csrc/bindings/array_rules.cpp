#include "bindings/array_rules.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

namespace tilewright::bindings {

namespace {

using enum DType;

constexpr ElementFunction functions[] = {
    {"add", "add", Rule::arithmetic, 2, "bitwise_or"},
    {"subtract", "sub", Rule::arithmetic, 2},
    {"multiply", "mul", Rule::arithmetic, 2, "bitwise_and"},
    {"maximum", "max", Rule::arithmetic, 2, "bitwise_or"},
    {"minimum", "min", Rule::arithmetic, 2, "bitwise_and"},
    {"floor_divide", "floor_divide", Rule::arithmetic, 2},
    {"remainder", "remainder", Rule::arithmetic, 2},
    {"pow", "pow", Rule::arithmetic, 2},
    {"negative", "neg", Rule::arithmetic, 1},
    {"abs", "abs", Rule::arithmetic, 1, "copy"},
    {"sign", "sign", Rule::arithmetic, 1},
    {"square", "square", Rule::arithmetic, 1, "copy"},
    {"clip", "clip", Rule::arithmetic, 3},
    {"positive", "", Rule::copy, 1},
    {"divide", "div", Rule::real, 2},
    {"reciprocal", "reciprocal", Rule::real, 1},
    {"sqrt", "sqrt", Rule::real, 1},
    {"rsqrt", "rsqrt", Rule::real, 1},
    {"cbrt", "cbrt", Rule::real, 1},
    {"hypot", "hypot", Rule::real, 2},
    {"exp", "exp", Rule::real, 1},
    {"exp2", "exp2", Rule::real, 1},
    {"expm1", "expm1", Rule::real, 1},
    {"log", "log", Rule::real, 1},
    {"log2", "log2", Rule::real, 1},
    {"log10", "log10", Rule::real, 1},
    {"log1p", "log1p", Rule::real, 1},
    {"logaddexp", "logaddexp", Rule::real, 2},
    {"sin", "sin", Rule::real, 1},
    {"cos", "cos", Rule::real, 1},
    {"tan", "tan", Rule::real, 1},
    {"asin", "asin", Rule::real, 1},
    {"acos", "acos", Rule::real, 1},
    {"atan", "atan", Rule::real, 1},
    {"atan2", "atan2", Rule::real, 2},
    {"sinh", "sinh", Rule::real, 1},
    {"cosh", "cosh", Rule::real, 1},
    {"tanh", "tanh", Rule::real, 1},
    {"asinh", "asinh", Rule::real, 1},
    {"acosh", "acosh", Rule::real, 1},
    {"atanh", "atanh", Rule::real, 1},
    {"copysign", "copysign", Rule::real, 2},
    {"nextafter", "nextafter", Rule::real, 2},
    {"relu", "relu", Rule::real, 1},
    {"sigmoid", "sigmoid", Rule::real, 1},
    {"silu", "silu", Rule::real, 1},
    {"gelu", "gelu", Rule::real, 1},
    {"gelu_tanh", "gelu_tanh", Rule::real, 1},
    {"leaky_relu", "leaky_relu", Rule::real, 2},
    {"elu", "elu", Rule::real, 2},
    {"selu", "selu", Rule::real, 1},
    {"hardsigmoid", "hardsigmoid", Rule::real, 1},
    {"hardswish", "hardswish", Rule::real, 1},
    {"softsign", "softsign", Rule::real, 1},
    {"floor", "floor", Rule::rounding, 1},
    {"ceil", "ceil", Rule::rounding, 1},
    {"trunc", "trunc", Rule::rounding, 1},
    {"round", "round", Rule::rounding, 1},
    {"signbit", "signbit", Rule::test, 1},
    {"isnan", "isnan", Rule::test, 1},
    {"isinf", "isinf", Rule::test, 1},
    {"isfinite", "isfinite", Rule::test, 1},
    {"bitwise_and", "bitwise_and", Rule::bits, 2},
    {"bitwise_or", "bitwise_or", Rule::bits, 2},
    {"bitwise_xor", "bitwise_xor", Rule::bits, 2},
    {"bitwise_invert", "bitwise_invert", Rule::bits, 1},
    {"bitwise_left_shift", "left_shift", Rule::shift, 2},
    {"bitwise_right_shift", "right_shift", Rule::shift, 2},
    {"equal", "equal", Rule::equality, 2},
    {"not_equal", "not_equal", Rule::equality, 2},
    {"less", "less", Rule::order, 2},
    {"less_equal", "less_equal", Rule::order, 2},
    {"greater", "greater", Rule::order, 2},
    {"greater_equal", "greater_equal", Rule::order, 2},
    {"logical_and", "bitwise_and", Rule::logic, 2},
    {"logical_or", "bitwise_or", Rule::logic, 2},
    {"logical_xor", "bitwise_xor", Rule::logic, 2},
    {"logical_not", "bitwise_invert", Rule::logic, 1},
    {"where", "where", Rule::choice, 3},
};

static_assert(std::size(functions) == element_function_count);

bool is_signed(DType dtype) {
  return dtype == int8 || dtype == int16 || dtype == int32 || dtype == int64;
}

DType float_of(std::size_t bytes) { return bytes <= 2 ? float16 : bytes == 4 ? float32 : float64; }

/// Where one of two that differ is bfloat16: it holds integers of 8 bits, float32 those of 16 and
/// all of float16 and bfloat16.
DType promoted_bfloat16(DType other) {
  if (is_float(other)) return size_of(other) == 2 ? float32 : other;
  return size_of(other) == 1 ? bfloat16 : float_of(2 * size_of(other));
}

}  // namespace

std::span<const ElementFunction> element_functions() noexcept { return functions; }

const ElementFunction* element_function(std::string_view name) noexcept {
  const auto* const found =
      std::ranges::find(functions, name, [](const ElementFunction& one) { return one.name; });
  return found == std::end(functions) ? nullptr : found;
}

bool is_float(DType dtype) noexcept {
  return dtype == float16 || dtype == bfloat16 || dtype == float32 || dtype == float64;
}

bool is_integer(DType dtype) noexcept { return dtype != boolean && !is_float(dtype); }

bool holds(DType integer, std::int64_t value, int overflow) noexcept {
  if (overflow != 0) return false;
  const std::size_t bits = 8 * size_of(integer);
  if (is_signed(integer)) {
    if (bits == 64) return true;
    const std::int64_t end = std::int64_t{1} << (bits - 1);
    return value >= -end && value < end;
  }
  return value >= 0 && (bits == 64 || value < (std::int64_t{1} << bits));
}

std::optional<DType> promoted(DType a, DType b) noexcept {
  if (a == b) return a;
  if (a == boolean) return b;
  if (b == boolean) return a;
  if (a == bfloat16) return promoted_bfloat16(b);
  if (b == bfloat16) return promoted_bfloat16(a);
  if (size_of(a) > size_of(b) || (size_of(a) == size_of(b) && is_float(a))) std::swap(a, b);
  // b is as large as a at least.
  if (is_float(b)) {
    if (is_float(a)) return b;
    // A float that holds the integers exactly, or the widest.
    return float_of(std::max(size_of(b), 2 * size_of(a)));
  }
  if (is_float(a)) return float_of(2 * size_of(b));
  if (is_signed(a) == is_signed(b)) return b;
  if (is_signed(b) && size_of(b) > size_of(a)) return b;
  // One signed and one not, and the signed one does not hold the other.
  switch (size_of(b)) {
    case 1:
      return int16;
    case 2:
      return int32;
    case 4:
      return int64;
    default:
      return std::nullopt;
  }
}

bool same_kind(DType from, DType to) noexcept {
  const auto rank = [](DType dtype) {
    if (dtype == boolean) return 0;
    return is_float(dtype) ? 3 : is_signed(dtype) ? 2 : 1;
  };
  return rank(from) <= rank(to);
}

std::optional<TypedFunction> typed(const ElementFunction& f, DType met) noexcept {
  const DType as_float = is_float(met) ? met : default_float;
  switch (f.rule) {
    case Rule::arithmetic:
      if (met != boolean) return TypedFunction{f.op, met, met};
      if (f.on_bool.empty()) return std::nullopt;
      return TypedFunction{f.on_bool == "copy" ? std::string_view() : f.on_bool, met, met};
    case Rule::real:
      return TypedFunction{f.op, as_float, as_float};
    case Rule::rounding:
      return TypedFunction{is_float(met) ? f.op : std::string_view(), met, met};
    case Rule::test:
      return TypedFunction{f.op, as_float, boolean};
    case Rule::equality:
      return TypedFunction{f.op, met, boolean};
    case Rule::order:
      return TypedFunction{f.op, met == boolean ? uint8 : met, boolean};
    case Rule::bits:
      if (is_float(met)) return std::nullopt;
      return TypedFunction{f.op, met, met};
    case Rule::shift:
      if (!is_integer(met)) return std::nullopt;
      return TypedFunction{f.op, met, met};
    case Rule::logic:
      return TypedFunction{f.op, boolean, boolean};
    case Rule::copy:
      return TypedFunction{{}, met, met};
    case Rule::choice:
      return TypedFunction{f.op, met, met};
  }
  return std::nullopt;
}

const Program& program_of(const ElementFunction& f, const TypedFunction& how,
                          std::span<const Source> sources, DType out) {
  static auto& kept = *new std::unordered_map<std::uint64_t, Program>();
  std::uint64_t key = 0;
  const auto add = [&](std::uint64_t part) { key = key << 5 | part; };
  add(static_cast<std::uint64_t>(how.computed_in));
  add(static_cast<std::uint64_t>(out));
  for (const Source& one : sources) {
    add(static_cast<std::uint64_t>(one.dtype) | (one.is_number ? 16U : 0U));
  }
  key = key << 8 | static_cast<std::uint64_t>(&f - functions);
  const auto found = kept.find(key);
  if (found != kept.end()) return found->second;

  Program p;
  std::vector<Program::Value> operands;
  for (const Source& one : sources) {
    operands.push_back(one.is_number ? p.number(one.dtype) : p.input(one.dtype));
  }
  // In steps, so that what is out comes of the result as it is.
  p.output(p.cast(applied(p, f, how, std::move(operands)), out));
  return kept.emplace(key, std::move(p)).first->second;
}

Program::Value applied(Program& p, const ElementFunction& f, const TypedFunction& how,
                       std::vector<Program::Value> operands) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    operands[i] = p.cast(operands[i], f.rule == Rule::choice && i == 0 ? boolean : how.computed_in);
  }
  const Program::Value result = how.op.empty() ? operands.front() : p.apply(how.op, operands);
  return p.cast(result, how.result);
}

const Program& cast_program(DType from, DType to, bool number) {
  static auto& kept = *new std::unordered_map<unsigned, Program>();
  const unsigned key = static_cast<unsigned>(from) * 32 + static_cast<unsigned>(to) * 2 + number;
  const auto found = kept.find(key);
  if (found != kept.end()) return found->second;
  Program p;
  Program::Value value = number ? p.number(from) : p.input(from);
  if (from != to) value = p.cast(value, to);
  p.output(value);
  return kept.emplace(key, std::move(p)).first->second;
}

}  // namespace tilewright::bindings
