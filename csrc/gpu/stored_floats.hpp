#pragma once

#include <string>
#include <string_view>

#include "core/text.hpp"
#include "tilewright/error.hpp"
#include "tilewright/types.hpp"

// Kernels that take floats of any kind: stored_floats.wgsl.
namespace tilewright::gpu {

inline std::string stored_name(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return "f64";
    case DType::float16:
      return "f16";
    case DType::bfloat16:
      return "bf16";
    default:
      return "f32";
  }
}

/// Of 16 bits a work-item has a word of them.
inline std::uint32_t floats_of_item(DType dtype) { return size_of(dtype) == 2 ? 2 : 1; }

/// `lacking`: what the device lacks for the dtype, or nothing.
inline void require_stored(std::string_view op, std::string_view lacking, std::string_view device) {
  if (lacking.empty()) return;
  throw Unsupported(text(op, ": ", device, " has no ", lacking,
                         " in kernels; cast to float32, or compute it on the cpu backend"));
}

}  // namespace tilewright::gpu
