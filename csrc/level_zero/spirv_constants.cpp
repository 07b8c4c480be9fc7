#include "level_zero/spirv_constants.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <string_view>
#include <vector>

#include "core/small_floats.hpp"
#include "core/text.hpp"
#include "gpu/kernel_constants.hpp"
#include "level_zero/spirv_module.hpp"
#include "tilewright/error.hpp"

namespace tilewright::level_zero {

namespace {

using gpu::ConstantType;
using Kind = ConstantType::Kind;

/// One that the module declares.
struct Declared {
  std::size_t at;  ///< its instruction, in words
  std::uint32_t type;
  std::string name;  ///< that the compiler kept, or empty
};

ConstantType type_of(const SpirvModule& module, const Declared& constant, std::uint32_t op) {
  if (op != spirv::specialization_constant) return {Kind::boolean, "bool"};
  const SpirvModule::Type& type = module.types.at(constant.type);  // which read_module has seen
  const int bits = static_cast<int>(type.bits);
  if (type.is_float) return {Kind::real, text("f", bits), bits};
  // Most have no sign, so that both are taken.
  return {Kind::whole, text(type.is_signed ? "i" : "int", bits), bits, true, !type.is_signed};
}

/// The bits of a value, as the module's words hold them.
std::uint64_t bits_of(std::string_view name, const KernelConstant& value,
                      const ConstantType& type) {
  if (type.kind == Kind::whole) {
    const auto bits = static_cast<std::uint64_t>(gpu::whole_value(name, value, type));
    // Narrow ones are extended by their sign, where they have one.
    return type.large && type.bits < 64 ? bits & ((std::uint64_t{1} << type.bits) - 1) : bits;
  }
  const double number = gpu::real_value(name, value, type);
  if (type.bits == 16) return half_bits(number);
  if (type.bits == 32) return std::bit_cast<std::uint32_t>(static_cast<float>(number));
  return std::bit_cast<std::uint64_t>(number);
}

}  // namespace

std::string with_constants(const gpu::KernelDescription& kernel) {
  const SpirvModule module = read_module(kernel.code.text, [&](const std::string& why) {
    throw KernelError(text(kernel.name, " cannot be taken: ", why));
  });
  std::vector<std::uint32_t> words(kernel.code.text.size() / sizeof(std::uint32_t));
  std::memcpy(words.data(), kernel.code.text.data(), kernel.code.text.size());
  std::map<std::string, Declared> by_number;
  std::string declared;
  for (const SpirvModule::Specialization& one : module.specializations) {
    const auto number = module.specialization_numbers.find(one.result);
    if (number == module.specialization_numbers.end()) continue;
    const auto named = module.names.find(one.result);
    const std::string name = named == module.names.end() ? "" : named->second;
    by_number[text(number->second)] = {one.at, one.type, name};
    declared += text(declared.empty() ? "" : ", ", number->second,
                     name.empty() ? "" : text(" (", name, ")"));
  }
  std::map<std::size_t, std::string_view> given;  // by place, how each was called
  for (const auto& [name, value] : kernel.constants_by_name) {
    auto found = by_number.find(name);
    if (found == by_number.end() && !name.empty()) {
      found =
          std::ranges::find_if(by_number, [&](const auto& one) { return one.second.name == name; });
    }
    if (found == by_number.end()) gpu::unknown_constant(name, kernel.name, declared);
    const Declared& constant = found->second;
    const auto [other, fresh] = given.emplace(constant.at, name);
    if (!fresh) gpu::constant_given_twice(other->second, name);
    std::uint32_t& first = words[constant.at];
    const std::uint32_t length = first >> 16;
    const ConstantType type = type_of(module, constant, first & 0xffff);
    if (type.kind == Kind::boolean) {
      const bool truth = gpu::boolean_value(name, value, type);
      first = (length << 16) | (truth ? spirv::specialization_true : spirv::specialization_false);
      continue;
    }
    const std::uint64_t bits = bits_of(name, value, type);
    words[constant.at + 3] = static_cast<std::uint32_t>(bits);
    if (type.bits == 64) words[constant.at + 4] = static_cast<std::uint32_t>(bits >> 32);
  }
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(std::uint32_t)};
}

}  // namespace tilewright::level_zero
