#pragma once

#include <cstdint>
#include <string_view>

#include "core/pool_spans.hpp"
#include "gpu/template.hpp"

namespace tilewright::gpu {

/// The parameters of pool.wgsl and pool_backward.wgsl.
struct PoolParams {
  struct Axis {
    std::uint32_t length, out, window, stride, pad, dilation, reach;
  };
  std::uint32_t n, divisor, divisor_high;
  std::uint32_t across;  ///< of the work-items that walk a window in pool.wgsl, those of a row
  Axis axes[pool_axes];
};

/// What a pooling is to kernels. Windows that all have as many elements are over a divisor.
struct PoolForm {
  PoolParams params;
  bool adaptive, padded, counted, dilated;

  std::uint32_t variant(bool is_max, bool has_places, DType dtype) const;
  void fill(TemplateVariables& v, DType dtype) const;
};

/// Whether an axis has one place, which is its one window.
inline bool is_single(const PoolAxis& axis) {
  return axis.length == 1 && axis.out == 1 && axis.window == 1 && axis.pad == 0;
}

/// Throws Unsupported where 32 bits do not count the places that windows reach.
PoolForm pool_form(std::string_view op, PoolOp kind, Size n, const PoolWindows& windows,
                   double divisor, DType dtype);

}  // namespace tilewright::gpu
