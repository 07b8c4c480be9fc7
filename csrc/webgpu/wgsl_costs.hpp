#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "webgpu/wgsl_declarations.hpp"

// What drivers make of a word, measured on software Vulkan with the library's checks left in, in
// words that would take as long.
namespace tilewright::webgpu {

inline constexpr std::uint64_t weight_of_division = 40;
inline constexpr std::uint64_t weight_of_branch = 25;
/// Of each * in a statement that names a matrix: drivers write such products out.
inline constexpr std::uint64_t weight_of_matrix_product = 300;
/// Of an index that is worked out at run time, into buffers and into what a function holds.
inline constexpr std::uint64_t weight_of_index = 30, weight_of_own_index = 110;
/// Of each element of an array that is so indexed and that a function holds, once.
inline constexpr std::uint64_t weight_of_indexed_element = 60;

/// Of calling a built-in function, apart from its words.
std::uint64_t weight_of_call(std::string_view function);

/// The loop whose keyword is at a place.
struct Loop {
  Declarations::Place end;              ///< the } of its body
  std::optional<std::uint64_t> rounds;  ///< where they are few and can be read; at least one
};
Loop loop_at(const Declarations& module, Declarations::Place keyword);

/// Of a loop whose words weigh so much: drivers write out what goes round few times.
std::uint64_t weight_of_loop(const Loop& loop, std::uint64_t words);

/// Whether what lies between these brackets is a number that the text says.
bool is_known_index(const Declarations& module, Declarations::Place bracket);

/// What an index in the bracket at a place selects from: a name, or none where it is a value.
std::optional<Declarations::Place> indexed(const Declarations& module, Declarations::Place bracket);

}  // namespace tilewright::webgpu
