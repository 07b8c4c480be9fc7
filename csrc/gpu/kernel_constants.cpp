#include "gpu/kernel_constants.hpp"

#include <cmath>
#include <limits>

#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {

namespace {

std::string shown(const KernelConstant& value) {
  if (const bool* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return text(*whole);
  const std::string number = text(std::get<double>(value));
  return number.find_first_of(".en") == std::string::npos ? text(number, ".0") : number;
}

[[noreturn]] void wrong(std::string_view name, const KernelConstant& value,
                        const std::string& expected, const ConstantType& type) {
  throw InvalidArgument(text("create_kernel: constants: ", name, " is ", shown(value),
                             ", expected ", expected, " (", type.name, ")"));
}

/// The largest finite number of a floating-point type.
double largest(int bits) {
  if (bits == 16) return 65504;
  return bits == 32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
}

}  // namespace

bool boolean_value(std::string_view name, const KernelConstant& value, const ConstantType& type) {
  if (const bool* truth = std::get_if<bool>(&value)) return *truth;
  wrong(name, value, "true or false", type);
}

std::int64_t whole_value(std::string_view name, const KernelConstant& value,
                         const ConstantType& type) {
  const auto* number = std::get_if<std::int64_t>(&value);
  if (number == nullptr) wrong(name, value, "a whole number", type);
  const std::int64_t low =
      type.negative ? std::numeric_limits<std::int64_t>::min() >> (64 - type.bits) : 0;
  const int bits = type.large ? type.bits : type.bits - 1;
  const std::int64_t high =
      bits >= 63 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << bits) - 1;
  if (*number < low || *number > high) wrong(name, value, text(low, " to ", high), type);
  return *number;
}

double real_value(std::string_view name, const KernelConstant& value, const ConstantType& type) {
  if (std::holds_alternative<bool>(value)) wrong(name, value, "a number", type);
  const auto* whole = std::get_if<std::int64_t>(&value);
  const double number = whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
  if (!std::isfinite(number)) wrong(name, value, "a finite number", type);
  if (std::abs(number) > largest(type.bits)) {
    wrong(name, value, text(-largest(type.bits), " to ", largest(type.bits)), type);
  }
  return number;
}

void unknown_constant(std::string_view name, std::string_view kernel, const std::string& declared) {
  throw InvalidArgument(text("create_kernel: constants: ", name, " is none that ", kernel,
                             " declares; it has ", declared.empty() ? "none" : declared));
}

void constant_given_twice(std::string_view name, std::string_view again) {
  throw InvalidArgument(text("create_kernel: constants: ", name, " and ", again,
                             " are one constant, expected one value for it"));
}

}  // namespace tilewright::gpu
