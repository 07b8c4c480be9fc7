#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/matrices.hpp"
#include "gpu/device.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

/// Rows and columns that factorisations work on at a time, as their kernels hold them.
inline Size factor_block(const Matrices& m) { return m.dtype == DType::float64 ? 16 : 32; }

/// Rows below a block that a workgroup of cholesky_panel takes.
inline Size cholesky_rows(const Matrices& m) { return m.dtype == DType::float64 ? 112 : 64; }

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

/// Who works on a panel of a factorisation: one workgroup for each matrix, or all of them, in a
/// launch for each column.
inline constexpr std::size_t by_one_workgroup = 0, by_all_workgroups = 1;
inline constexpr std::array<std::string_view, 2> panel_ways{"one-workgroup", "all-workgroups"};

/// The rows of a panel in chunks, each of a workgroup: of no fewer rows than a workgroup has in its
/// registers, and no more chunks than fill the GPU, since each workgroup reads what all have left.
class RowChunks {
 public:
  static Size most(Size height, Size batch, Size units) {
    constexpr Size filled = 128;
    return std::min(std::max<Size>(filling(filled, units) / batch, 1), count(height, least_rows));
  }
  RowChunks(Size height, Size batch, Size units)
      : rows_(least_rows * count(height, least_rows * most(height, batch, units))) {}
  Size rows() const { return rows_; }
  Size count(Size height) const { return count(height, rows_); }

 private:
  static constexpr Size least_rows = 64;
  static Size count(Size height, Size rows) { return (height + rows - 1) / rows; }

  Size rows_;
};

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
