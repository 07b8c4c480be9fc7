#pragma once

#include <cstddef>

#include "cpu/kernels/table.hpp"
#include "tilewright/types.hpp"

namespace tilewright::cpu {

inline Size ceil_div(Size a, Size b) { return (a + b - 1) / b; }
inline std::size_t size(Size n) { return static_cast<std::size_t>(n); }
/// Floats of a vector.
inline Size lanes() { return static_cast<Size>(kernels().simd_width); }

}  // namespace tilewright::cpu
