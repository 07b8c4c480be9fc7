#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/matrices.hpp"
#include "gpu/device.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

/// Rows and columns that factorisations work on at a time, as their kernels hold them.
inline Size factor_block(const Matrices& m) { return m.dtype == DType::float64 ? 16 : 32; }

/// Rows of the two blocks that Jacobi's method takes at a time, as its kernels hold them.
inline Size jacobi_side(const Matrices& m) {
  return m.dtype == DType::float32 && !m.is_complex ? 32 : 16;
}
/// Where Jacobi's method gives up: drawn matrices take 6 to 12 sweeps.
inline constexpr Size most_sweeps = 30;
/// Workgroups that measure a matrix of so many elements.
inline Size measuring_parts(Size elements) {
  return std::clamp<Size>(elements / (16 * group_size), 1, 256);
}

/// Of so many elements.
inline std::uint64_t bytes_of(Size elements, const Matrices& m) {
  return bytes_of(m.numbers(elements), m.dtype);
}

/// A form of a kernel for the numbers of matrices.
inline std::uint32_t variant_of(const Matrices& m, std::uint32_t form = 0) {
  return form * 4 + (m.is_complex ? 2 : 0) + (m.dtype == DType::float64 ? 1 : 0);
}

/// The variables of numbers.wgsl.
inline void set_real(TemplateVariables& variables, const Matrices& m) {
  variables["T"] = std::string(m.dtype == DType::float64 ? "f64" : "f32");
}
inline void set_numbers(TemplateVariables& variables, const Matrices& m) {
  set_real(variables, m);
  variables["COMPLEX"] = std::int64_t{m.is_complex};
}

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

/// Of which matrix a conjugate is meant.
struct Conjugates {
  bool a = false, b = false;
};

/// A stride or place as kernels count it, modulo 2^32.
inline std::uint32_t wrapped(Size size) { return static_cast<std::uint32_t>(size); }

}  // namespace tilewright::gpu
