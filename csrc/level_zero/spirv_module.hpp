#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilewright::level_zero {

/// What a SPIR-V module says of its entry points, types and names; of the code itself nothing.
struct SpirvModule {
  enum class Kind : std::uint8_t { number, vector, array, structure, pointer, other };
  struct Type {
    Kind kind = Kind::other;
    bool is_float = false, is_signed = false;  ///< of a number
    std::uint32_t bits = 0;                    ///< of a number
    std::uint32_t storage = 0;                 ///< of a pointer
    std::uint64_t count = 0;                   ///< of a vector or an array
    std::vector<std::uint32_t> parts;  ///< types: of the elements, of the members, pointed to
    bool packed = false;
  };
  struct Function {
    std::vector<std::uint32_t> parameters, types;  ///< ids
  };
  struct EntryPoint {
    std::string name;
    std::uint32_t function;
  };

  std::vector<EntryPoint> entry_points;  ///< kernels
  std::unordered_map<std::uint32_t, Function> functions;
  std::unordered_map<std::uint32_t, Type> types;
  std::unordered_map<std::uint32_t, std::array<std::uint32_t, 3>> workgroup_sizes;  ///< by function
  std::unordered_map<std::uint32_t, std::string> names;
  std::unordered_map<std::uint64_t, std::string> member_names;  ///< by type << 32 | member
  std::unordered_map<std::uint32_t, std::uint64_t> constants;
  /// A specialization constant of a type that is known, and where its instruction is, in words.
  struct Specialization {
    std::size_t at;
    std::uint32_t type, result;
  };
  std::vector<Specialization> specializations;
  std::unordered_map<std::uint32_t, std::uint32_t> specialization_numbers;  ///< by result
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> parameter_attributes;
  std::vector<std::uint32_t> workgroup_variables;  ///< their pointers' types

  bool has_attribute(std::uint32_t id, std::uint32_t attribute) const;
};

/// Values of SPIR-V's enumerations that its readers compare with.
namespace spirv {
inline constexpr std::uint32_t magic = 0x07230203;
inline constexpr std::uint32_t uniform_constant = 0, workgroup = 4, cross_workgroup = 5,
                               function = 7;
inline constexpr std::uint32_t specialization_true = 48, specialization_false = 49,
                               specialization_constant = 50;
inline constexpr std::uint32_t by_value = 2, no_write = 6;
}  // namespace spirv

/// Reads a module. `refuse` is called with what is wrong with it, and throws.
SpirvModule read_module(std::string_view code,
                        const std::function<void(const std::string& why)>& refuse);

}  // namespace tilewright::level_zero
