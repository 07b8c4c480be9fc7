#include "core/ops/sparse_matmul.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "core/text.hpp"
#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

// Rows' ends and elements, merged in their order, are cut into equal shares, one a workgroup. What
// each has of its first row and of the one that it does not end, a second launch joins.
namespace tilewright::gpu {

namespace {

/// Of the merged list a workgroup: at least, and where there is enough for all of them.
constexpr Size least_share = 2048;
constexpr Size enough_groups = 1056;
/// Software devices end loops after 65,535 turns, of all within a kernel.
constexpr Size longest_walk = 1 << 14;

constexpr Size ceiling(Size x, Size y) { return (x + y - 1) / y; }

struct Params {
  std::uint32_t rows, cols, nnz, n, ldx, ldy, total, share, groups, name;
  std::uint32_t alpha, alpha_high, beta, beta_high;
};

std::uint64_t bits_of(double number, DType dtype) {
  return dtype == DType::float64 ? std::bit_cast<std::uint64_t>(number)
                                 : std::bit_cast<std::uint32_t>(static_cast<float>(number));
}

}  // namespace

void GpuBackend::launch_sparse_matmul(const SparseMatmulRequest& r) {
  constexpr std::string_view op = "sparse_matmul";
  require(op, r.dtype);
  if (!lacking_feature(r.dtype).empty()) {
    throw Unsupported(text(op, ": ", device_->info().name,
                           " has no float64 in kernels; cast to float32 or complex64, or compute "
                           "it on the cpu backend"));
  }
  if (r.batch != 1 || r.block_rows != 1 || r.block_cols != 1) {
    throw Unsupported("sparse_matmul: batches and blocks; multiply one by one");
  }
  const bool by_vector = r.n == 1;
  // Work-items side by side have neighbouring columns of X, each one or several of them.
  const auto lanes = static_cast<std::uint32_t>(
      by_vector ? 1 : std::min(std::bit_ceil(static_cast<std::size_t>(r.n)), std::size_t{32}));
  const std::uint32_t each = r.n <= 32 ? 1 : r.n <= 64 ? 2 : 4;
  const Size columns = by_vector ? 1 : Size{lanes} * each;
  const Size walkers = by_vector ? group_size : group_size / lanes;
  const Size total = r.rows + r.nnz;
  const Size enough = filling(enough_groups, device_->limits().planned_units);
  Size share = std::max(ceiling(total, enough), by_vector ? least_share : 32 * walkers);
  share = std::min(share, longest_walk * (by_vector ? 32 : walkers));
  share = ceiling(share, group_size) * group_size;
  const Size groups = ceiling(total, share);

  const Size width = r.is_complex ? 2 : 1;
  const DType sums = r.dtype == DType::float16 ? DType::float32 : r.dtype;
  const AllocationRef parts = memory_->scratch(op, bytes_of(2 * groups * r.n * width, sums));
  const AllocationRef starts = memory_->scratch(op, bytes_of(groups + 1, DType::uint32));
  const Binding offsets = bind(op, r.offsets, bytes_of(r.rows + 1, DType::int32));
  const auto bound = [&](const BufferRange& range) {
    // What has no elements is not read.
    return range ? bind(op, range, range.bytes) : offsets;
  };
  const Binding y = bind(op, r.y, r.y.bytes);
  const std::uint64_t alpha = bits_of(r.alpha, r.dtype), beta = bits_of(r.beta, r.dtype);
  const Params params{u32(r.rows),
                      u32(r.cols),
                      u32(r.nnz),
                      u32(r.n),
                      u32(r.ldx),
                      u32(r.ldy),
                      u32(total),
                      u32(share),
                      u32(groups),
                      faults_->name(op),
                      static_cast<std::uint32_t>(alpha),
                      static_cast<std::uint32_t>(alpha >> 32),
                      static_cast<std::uint32_t>(beta),
                      static_cast<std::uint32_t>(beta >> 32)};
  const std::uint32_t type =
      half_bit(r.dtype) | (r.dtype == DType::float64 ? 2u : 0u) | (r.is_complex ? 4u : 0u);
  const auto fill = [&](TemplateVariables& v) {
    v["GROUP"] = std::int64_t{group_size};
    v["T"] = std::string(r.dtype == DType::float64 ? "f64" : type_name(r.dtype));
    v["COMPLEX"] = std::int64_t{r.is_complex};
  };
  const std::array<Binding, 8> bindings{
      offsets, bound(r.columns), bound(r.elements), bound(r.x),
      y,       window(parts, 0), window(starts, 0), faults_->binding()};
  if (by_vector) {
    run(KernelId::sparse_vector, type, params, bindings,
        cover(static_cast<std::uint64_t>(groups), 1), fill);
  } else {
    run(KernelId::sparse_columns, type | each << 3 | lanes << 6, params, bindings,
        cover(static_cast<std::uint64_t>(groups * ceiling(r.n, columns)), 1),
        [&](TemplateVariables& v) {
          fill(v);
          v["LANES"] = std::int64_t{lanes};
          v["EACH"] = std::int64_t{each};
        });
  }
  faults_->may_be();
  if (groups == 1) return;
  const std::uint32_t joined = std::min(lanes, std::uint32_t{16});
  const std::array<Binding, 3> of_join{y, bindings[5], bindings[6]};
  run(KernelId::sparse_join, type | joined << 3, params, of_join,
      cover(static_cast<std::uint64_t>(r.n), joined), [&](TemplateVariables& v) {
        fill(v);
        v["LANES"] = std::int64_t{joined};
      });
}

}  // namespace tilewright::gpu
