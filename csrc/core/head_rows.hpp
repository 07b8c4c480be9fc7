#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "core/call.hpp"
#include "core/requests.hpp"
#include "tilewright/program.hpp"

// Operands that are rows by batch, head and place in a sequence, while a call is checked.
namespace tilewright {

/// Dimensions of [batch, heads, seq, head_dim] that an operand has.
using Dims = std::span<const std::size_t>;
inline constexpr std::array<std::size_t, 4> all_dims{0, 1, 2, 3};
inline constexpr std::array<std::size_t, 3> without_batch{1, 2, 3};
inline constexpr std::array<std::size_t, 2> heads_alone{1, 3};

/// What an operand touches, and how its rows lie there.
BufferRange check_rows(const Call& call, std::string_view name, const MapOperand& operand,
                       const Shape4& shape, Dims dims, DType dtype, Access access, HeadRows& rows);

}  // namespace tilewright
