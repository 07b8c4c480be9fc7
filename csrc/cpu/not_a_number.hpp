#pragma once

#include <limits>
#include <type_traits>

#include "cpu/kernels/table.hpp"
#include "tilewright/types.hpp"

namespace tilewright::cpu {

/// A NaN as a dtype that is stored as T has it.
template <class T>
T not_a_number(DType dtype) {
  if constexpr (std::is_same_v<T, Half>) {
    return dtype == DType::bfloat16 ? 0x7fc0 : 0x7e00;
  } else {
    return std::numeric_limits<float>::quiet_NaN();
  }
}

}  // namespace tilewright::cpu
