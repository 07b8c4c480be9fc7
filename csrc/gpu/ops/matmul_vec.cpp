#include <algorithm>
#include <array>
#include <bit>

#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

namespace {

/// What a work-item does best of a row, and the least that is worth one where rows are few.
constexpr Size good_share = 64;
constexpr Size least_share = 16;
constexpr Size enough_groups = 1024;

/// Work-items for each row.
std::uint32_t lanes_for(Size rows, Size cols) {
  const auto power = [](Size size) {
    return std::clamp<std::size_t>(std::bit_ceil(static_cast<std::size_t>(size)), 8, group_size);
  };
  std::size_t lanes = power(cols / good_share);
  const std::size_t most = power(cols / least_share);
  while (lanes < most && static_cast<std::size_t>(rows) * lanes < enough_groups * group_size) {
    lanes *= 2;
  }
  return static_cast<std::uint32_t>(lanes);
}

}  // namespace

void GpuBackend::multiply_rows(std::string_view op, const RowsByVector& r) {
  require(op, r.dtype);
  const struct {
    std::uint32_t rows, cols, heads, share;
    float factor;
  } params{u32(r.rows), u32(r.cols), u32(r.heads), u32(r.heads / r.matrices), r.factor};
  const std::array<Binding, 3> bindings{
      bind(op, r.matrix, bytes_of(r.matrices * r.rows * r.cols, r.dtype)),
      bind(op, r.vector, bytes_of(r.heads * r.cols, r.dtype)),
      bind(op, r.out, bytes_of(r.heads * r.rows, r.dtype))};
  const bool vector = r.cols % 4 == 0;
  const std::uint32_t lanes = lanes_for(r.heads * r.rows, r.cols);
  run(KernelId::matmul_vec, lanes * 4 + (vector ? 2 : 0) + half_bit(r.dtype), params, bindings,
      cover(static_cast<std::uint64_t>(r.heads * r.rows), group_size / lanes),
      [&](TemplateVariables& v) {
        set_common(v, r.dtype);
        v["LANES"] = std::int64_t{lanes};
        v["VECTOR"] = std::int64_t{vector};
      });
}

void GpuBackend::do_matmul_vec(const MatmulVecRequest& r) {
  multiply_rows("matmul_vec", {r.matrix, r.vector, r.out, r.rows, r.cols, 1, 1, 1.0f, r.dtype});
}

}  // namespace tilewright::gpu
