#pragma once

#include "core/call.hpp"
#include "core/text.hpp"

namespace tilewright {

inline void any_float(const Call& call, DType dtype) {
  if (dtype != DType::float32 && dtype != DType::float16 && dtype != DType::bfloat16 &&
      dtype != DType::float64) [[unlikely]] {
    call.invalid(
        text("dtype is ", to_string(dtype), ", expected float32, float16, bfloat16 or float64"));
  }
}

}  // namespace tilewright
