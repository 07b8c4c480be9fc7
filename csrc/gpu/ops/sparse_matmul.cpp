#include "core/ops/sparse_matmul.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "core/text.hpp"
#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

// By a vector, short rows are added up by a work-item or a few each (sparse_rows.wgsl). Of all
// others rows' ends and elements, merged in their order, are cut into equal shares, one a
// workgroup; what each has of its first row and of the one that it does not end, a second launch
// joins.
namespace tilewright::gpu {

namespace {

constexpr std::string_view op = "sparse_matmul";

/// Of the merged list a workgroup: at least, and where there is enough for all of them.
constexpr Size least_share = 2048;
constexpr Size enough_groups = 1056;
/// Software devices end loops after 65,535 turns, of all within a kernel.
constexpr Size longest_walk = 1 << 14;

/// Elements a row, on average, up to which rows are short.
constexpr Size short_row = 32;
/// Work-items of a workgroup, which has at most as many rows.
constexpr std::uint32_t rows_group = group_size;
constexpr Size least_rows = 32;
/// Of the room for products in a workgroup's memory, what average rows fill.
constexpr Size filled = 3, of_room = 4;
/// So many elements no row is too long for its workgroup.
constexpr Size few_elements = 1 << 16;

constexpr Size ceiling(Size x, Size y) { return (x + y - 1) / y; }

struct Params {
  std::uint32_t rows, cols, nnz, n, ldx, ldy, total, share, groups, name;
  std::uint32_t alpha, alpha_high, beta, beta_high;
  std::uint32_t block_rows, block_cols, pieces;
  std::uint32_t batch, step_offsets, step_columns, step_values, step_x, step_y;
};

std::uint64_t bits_of(double number, DType dtype) {
  return dtype == DType::float64 ? std::bit_cast<std::uint64_t>(number)
                                 : std::bit_cast<std::uint32_t>(static_cast<float>(number));
}

Params params_of(const SparseMatmulRequest& r, std::uint32_t name) {
  const std::uint64_t alpha = bits_of(r.alpha, r.dtype), beta = bits_of(r.beta, r.dtype);
  Params params{};
  params.rows = u32(r.rows);
  params.cols = u32(r.cols);
  params.nnz = u32(r.nnz);
  params.n = u32(r.n);
  params.ldx = u32(r.ldx);
  params.ldy = u32(r.ldy);
  params.name = name;
  params.alpha = static_cast<std::uint32_t>(alpha);
  params.alpha_high = static_cast<std::uint32_t>(alpha >> 32);
  params.beta = static_cast<std::uint32_t>(beta);
  params.beta_high = static_cast<std::uint32_t>(beta >> 32);
  params.block_rows = u32(r.block_rows);
  params.block_cols = u32(r.block_cols);
  params.batch = u32(r.batch);
  params.step_offsets = u32(r.stride_offsets);
  params.step_columns = u32(r.stride_columns);
  params.step_values = u32(r.stride_values);
  params.step_x = u32(r.stride_x);
  params.step_y = u32(r.stride_y);
  return params;
}

bool has_blocks(const SparseMatmulRequest& r) { return r.block_rows != 1 || r.block_cols != 1; }

bool has_short_rows(const SparseMatmulRequest& r) {
  return r.n == 1 && !has_blocks(r) && r.cols > 0 && r.nnz / short_row <= r.rows;
}

DType sums_of(const SparseMatmulRequest& r) {
  return r.dtype == DType::float16 ? DType::float32 : r.dtype;
}

std::uint32_t type_of(const SparseMatmulRequest& r) {
  return half_bit(r.dtype) | (r.dtype == DType::float64 ? 2u : 0u) | (r.is_complex ? 4u : 0u);
}

void set_type(TemplateVariables& v, const SparseMatmulRequest& r, std::uint32_t group) {
  v["GROUP"] = std::int64_t{group};
  v["T"] = std::string(r.dtype == DType::float64 ? "f64" : type_name(r.dtype));
  v["COMPLEX"] = std::int64_t{r.is_complex};
}

/// The launches of a request.
struct Launches {
  using Fill = std::function<void(TemplateVariables&)>;

  const SparseMatmulRequest& r;
  Size units;
  bool is_compiled;
  std::uint32_t name;  ///< in faults
  /// Those without elements are anything.
  Binding offsets, columns, values, x, y, faults;
  std::function<void(KernelId, std::uint32_t variant, const Params&, std::span<const Binding>,
                     Size groups, const Fill&)>
      run;
  std::function<AllocationRef(std::uint64_t bytes)> scratch;
  std::function<Binding(const AllocationRef&)> all_of;

  void short_rows() const;
  void merged_rows() const;
};

void Launches::short_rows() const {
  // As in sparse_stage.wgsl.
  const Size items = r.dtype == DType::float64 ? (r.is_complex ? 2 : 4) : r.is_complex ? 4 : 6;
  const Size staged = items * rows_group, piece = staged / 2;
  Size share = r.nnz == 0 ? rows_group : staged * filled / of_room * r.rows / r.nnz;
  share = std::min(
      {share, Size{rows_group}, std::max(least_rows, ceiling(r.rows * r.batch, 2 * units))});
  share = share < least_rows ? std::max(share, Size{1}) : share / least_rows * least_rows;
  const Size groups = ceiling(r.rows, share);
  const bool has_long = r.nnz > few_elements;

  Params params = params_of(r, name);
  params.share = u32(share);
  params.groups = u32(groups);
  params.pieces = has_long ? u32(ceiling(r.nnz, piece)) : 0;
  std::array<Binding, 7> bindings{offsets, columns, values, x, y, faults};
  AllocationRef owners;
  const Size pieces = params.pieces * r.batch;
  if (has_long) {
    owners = scratch(bytes_of(pieces, DType::uint32));
    bindings.back() = all_of(owners);
  }
  const std::uint32_t type = type_of(r);
  run(KernelId::sparse_rows, type | (has_long ? 8u : 0u), params,
      std::span(bindings).first(has_long ? 7 : 6), groups * r.batch, [&](TemplateVariables& v) {
        set_type(v, r, rows_group);
        v["LONG"] = std::int64_t{has_long};
      });
  if (!has_long) return;
  const Size width = r.is_complex ? 2 : 1;
  const AllocationRef parts = scratch(bytes_of(pieces * width, sums_of(r)));
  params.groups = u32(std::min(pieces, filling(enough_groups, units)));
  const auto add = [&](bool join, std::span<const Binding> of) {
    run(KernelId::sparse_pieces, type | (join ? 8u : 0u), params, of, params.groups,
        [&](TemplateVariables& v) {
          set_type(v, r, rows_group);
          v["JOIN"] = std::int64_t{join};
        });
  };
  add(false, std::array{offsets, columns, values, x, all_of(owners), all_of(parts), faults});
  add(true, std::array{offsets, y, all_of(owners), all_of(parts)});
}

void Launches::merged_rows() const {
  const bool blocks = has_blocks(r), by_vector = r.n == 1 && !blocks;
  const Size n = r.n * r.block_rows;
  // Work-items side by side have neighbouring columns of X, each one or several of them.
  const auto lanes = static_cast<std::uint32_t>(
      by_vector ? 1 : std::min(std::bit_ceil(static_cast<std::size_t>(n)), std::size_t{32}));
  // What is compiled for Intel's GPUs has as many as their registers hold.
  const Size most_each = is_compiled ? 16 / (size_of(sums_of(r)) * (r.is_complex ? 2 : 1)) : 4;
  const Size wanted_each = n <= 32 ? 1 : n <= 64 ? 2 : 4;
  const auto each = u32(std::min(wanted_each, most_each));
  const Size of_group = by_vector ? 1 : Size{lanes} * each;
  const Size walkers = by_vector ? group_size : group_size / lanes;
  const Size total = r.rows + r.nnz;
  const Size enough = filling(enough_groups, units);
  Size share = std::max(ceiling(total * r.batch, enough), by_vector ? least_share : 32 * walkers);
  const Size walk = std::max<Size>(longest_walk / r.block_cols, 1);
  share = std::min(share, walk * (by_vector ? 32 : walkers));
  const Size unit = blocks ? walkers : group_size;
  share = ceiling(share, unit) * unit;
  const Size groups = ceiling(total, share);

  const Size width = r.is_complex ? 2 : 1;
  const AllocationRef parts = scratch(bytes_of(2 * groups * r.batch * n * width, sums_of(r)));
  const AllocationRef starts = scratch(bytes_of((groups + 1) * r.batch, DType::uint32));
  Params params = params_of(r, name);
  params.total = u32(total);
  params.share = u32(share);
  params.groups = u32(groups);
  const std::uint32_t type = type_of(r) | (blocks ? 8u : 0u);
  const std::array<Binding, 8> bindings{offsets, columns,       values,         x,
                                        y,       all_of(parts), all_of(starts), faults};
  if (by_vector) {
    run(KernelId::sparse_vector, type, params, bindings, groups * r.batch,
        [&](TemplateVariables& v) { set_type(v, r, group_size); });
  } else {
    run(KernelId::sparse_columns, type | each << 4 | lanes << 7, params, bindings,
        groups * ceiling(n, of_group) * r.batch, [&](TemplateVariables& v) {
          set_type(v, r, group_size);
          v["BLOCK"] = std::int64_t{blocks};
          v["LANES"] = std::int64_t{lanes};
          v["EACH"] = std::int64_t{each};
        });
  }
  if (groups == 1) return;
  const std::uint32_t joined = std::min(lanes, std::uint32_t{16});
  const std::array<Binding, 3> of_join{y, bindings[5], bindings[6]};
  run(KernelId::sparse_join, type | joined << 4, params, of_join, ceiling(n, joined) * r.batch,
      [&](TemplateVariables& v) {
        set_type(v, r, group_size);
        v["BLOCK"] = std::int64_t{blocks};
        v["LANES"] = std::int64_t{joined};
      });
}

}  // namespace

void GpuBackend::launch_sparse_matmul(const SparseMatmulRequest& r) {
  require(op, r.dtype);
  if (!lacking_feature(r.dtype).empty()) {
    throw Unsupported(text(op, ": ", device_->info().name,
                           " has no float64 in kernels; cast to float32 or complex64, or compute "
                           "it on the cpu backend"));
  }
  if (r.block_cols > longest_walk) {
    throw Unsupported(text(op, ": block_cols is ", r.block_cols, ", more than the ", longest_walk,
                           " that ", device_->info().name,
                           " takes; use smaller blocks, or compute it on the cpu backend"));
  }
  const Binding offsets = bind(op, r.offsets, r.offsets.bytes);
  const auto bound = [&](const BufferRange& range) {
    return range ? bind(op, range, range.bytes) : offsets;
  };
  const Launches launches{
      .r = r,
      .units = device_->limits().planned_units,
      .is_compiled = !device_->limits().compiles_templates,
      .name = faults_->name(op),
      .offsets = offsets,
      .columns = bound(r.columns),
      .values = bound(r.elements),
      .x = bound(r.x),
      .y = bind(op, r.y, r.y.bytes),
      .faults = faults_->binding(),
      .run =
          [this](KernelId id, std::uint32_t variant, const Params& params,
                 std::span<const Binding> bindings, Size groups, const Launches::Fill& fill) {
            run(id, variant, params, bindings, cover(static_cast<std::uint64_t>(groups), 1), fill);
          },
      .scratch = [this](std::uint64_t bytes) { return memory_->scratch(op, bytes); },
      .all_of = [this](const AllocationRef& range) { return window(range, 0); }};
  has_short_rows(r) ? launches.short_rows() : launches.merged_rows();
  faults_->may_be();
}

}  // namespace tilewright::gpu
