#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tilewright/kernel.hpp"

namespace tilewright::gpu {

/// What a constant of a kernel's code is declared as.
struct ConstantType {
  enum class Kind : std::uint8_t { boolean, whole, real };
  Kind kind;
  std::string name;  ///< "u32"
  int bits = 32;
  bool negative = false, large = false;  ///< of whole: from -2^(bits - 1), up to 2^bits - 1
};

/// A value that is given for a constant, named in messages as `name`. Each throws InvalidArgument
/// where it is none of the type's.
bool boolean_value(std::string_view name, const KernelConstant& value, const ConstantType& type);
std::int64_t whole_value(std::string_view name, const KernelConstant& value,
                         const ConstantType& type);
/// Finite; the type rounds it.
double real_value(std::string_view name, const KernelConstant& value, const ConstantType& type);

/// Throws InvalidArgument: the code declares no constant of that name. `declared`: those it has.
[[noreturn]] void unknown_constant(std::string_view name, std::string_view kernel,
                                   const std::string& declared);
/// The same for a constant that is given by its name and by its number.
[[noreturn]] void constant_given_twice(std::string_view name, std::string_view again);

}  // namespace tilewright::gpu
