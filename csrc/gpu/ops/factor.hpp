#pragma once

#include <cstdint>
#include <string_view>

#include "core/matrices.hpp"
#include "gpu/device.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

/// Rows and columns that factorisations work on at a time, as their kernels hold them.
inline constexpr Size factor_block = 32;

/// A part of matrices in a binding, by strides in elements, which may be negative.
struct MatrixPart {
  Size start, row, column;

  MatrixPart transposed() const { return {start, column, row}; }
  MatrixPart from(Size i, Size j) const { return {start + i * row + j * column, row, column}; }
};

/// Matrices that lie one behind another, so many elements apart.
struct BoundMatrices {
  Binding binding;
  Size apart;
};

/// Throws Unsupported for what the kernels of factorisations do not compute.
void require_factors(std::string_view op, std::string_view backend, const Matrices& matrices);

/// A stride or place as kernels count it, modulo 2^32.
inline std::uint32_t wrapped(Size size) { return static_cast<std::uint32_t>(size); }

}  // namespace tilewright::gpu
