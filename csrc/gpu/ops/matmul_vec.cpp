#include <algorithm>
#include <array>
#include <bit>

#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

namespace {

/// What a work-item does best of a row, and the least that is worth one where rows are few; and how
/// many workgroups fill the measured GPU.
constexpr Size good_share = 64;
constexpr Size least_share = 16;
constexpr Size enough_groups = 1024;

/// Work-items for each row.
std::uint32_t lanes_for(Size rows, Size cols, Size units) {
  const auto power = [](Size size) {
    return std::clamp<std::size_t>(std::bit_ceil(static_cast<std::size_t>(size)), 8, group_size);
  };
  const auto enough = static_cast<std::size_t>(filling(enough_groups, units));
  std::size_t lanes = power(cols / good_share);
  const std::size_t most = power(cols / least_share);
  while (lanes < most && static_cast<std::size_t>(rows) * lanes < enough * group_size) {
    lanes *= 2;
  }
  return static_cast<std::uint32_t>(lanes);
}

/// Whether all rows follow each other without gaps.
bool lies_in_order(const auto& r) {
  return (r.matrix_rows.start | r.vector_rows.start | r.out_rows.start) == 0 &&
         r.matrix_rows.seq == r.cols && r.matrix_rows.head == r.rows * r.cols &&
         r.vector_rows.head == r.cols && r.out_rows.head == r.rows;
}

}  // namespace

void GpuBackend::multiply_rows(std::string_view op, const RowsByVector& r) {
  require(op, r.dtype);
  const auto bind_rows = [&](const BufferRange& range, const HeadRows& rows, Size heads, Size count,
                             Size length) {
    return bind(op, range, bytes_of(extent(rows, 1, heads, count, length), r.dtype));
  };
  const std::array<Binding, 3> bindings{
      bind_rows(r.matrix, r.matrix_rows, r.matrices, r.rows, r.cols),
      bind_rows(r.vector, r.vector_rows, r.heads, 1, r.cols),
      bind_rows(r.out, r.out_rows, r.heads, 1, r.rows)};
  const bool vector = r.cols % 4 == 0 && in_fours(r.matrix_rows) && in_fours(r.vector_rows);
  const std::uint32_t lanes = lanes_for(r.heads * r.rows, r.cols, device_->limits().planned_units);
  const bool strided = !lies_in_order(r);
  const auto grid = cover(static_cast<std::uint64_t>(r.heads * r.rows), group_size / lanes);
  const std::uint32_t variant =
      ((lanes * 2 + (vector ? 1 : 0)) * 2 + half_bit(r.dtype)) * 2 + (strided ? 1 : 0);
  const auto fill = [&](TemplateVariables& v) {
    set_common(v, r.dtype);
    v["LANES"] = std::int64_t{lanes};
    v["VECTOR"] = std::int64_t{vector};
    v["STRIDED"] = std::int64_t{strided};
  };
  struct Sizes {
    std::uint32_t rows, cols, heads, share;
    float factor;
  };
  const Sizes sizes{u32(r.rows), u32(r.cols), u32(r.heads), u32(r.heads / r.matrices), r.factor};
  if (!strided) return run(KernelId::matmul_vec, variant, sizes, bindings, grid, fill);
  const auto items = [&](Size elements) { return u32(vector ? elements / 4 : elements); };
  const struct {
    Sizes sizes;
    std::uint32_t matrix_start, matrix_stride, row_stride, vector_start, vector_stride;
    std::uint32_t result_start, result_stride;
  } params{sizes,
           items(r.matrix_rows.start),
           items(r.matrix_rows.head),
           items(r.matrix_rows.seq),
           items(r.vector_rows.start),
           items(r.vector_rows.head),
           u32(r.out_rows.start),
           u32(r.out_rows.head)};
  run(KernelId::matmul_vec, variant, params, bindings, grid, fill);
}

void GpuBackend::launch_matmul_vec(const MatmulVecRequest& r) {
  const auto rows_of = [](Size rows, Size length) {
    return HeadRows{rows * length, rows * length, length};
  };
  multiply_rows("matmul_vec",
                {r.matrix, r.vector, r.out, rows_of(r.rows, r.cols), rows_of(1, r.cols),
                 rows_of(1, r.rows), r.rows, r.cols, 1, 1, 1.0f, r.dtype});
}

}  // namespace tilewright::gpu
