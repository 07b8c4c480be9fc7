#pragma once

#include <cstddef>
#include <optional>

#include "core/requests.hpp"

namespace tilewright {

/// The dimension along which an operand's elements lie side by side that the last one walks by
/// whole lines of a cache, as in a transposed matrix; nothing where there is no such operand. Such
/// elements are gone through in tiles of both dimensions, so that lines are read once.
std::optional<std::size_t> dimension_of_lines(const MapRequest& request);

}  // namespace tilewright
