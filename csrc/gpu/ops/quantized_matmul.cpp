#include "core/ops/quantized_matmul.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "gpu/backend.hpp"
#include "gpu/ops/quantized.hpp"
#include "gpu/ops/windows.hpp"

namespace tilewright::gpu {

namespace {

/// Rows of x that are multiplied while weights are read, not by tiles.
constexpr Size few = 8;

Size count(Size size, Size part) { return (size + part - 1) / part; }

/// How few rows are multiplied: `vectors` of x at a time by `own` rows of weights a work-item.
struct FewPlan {
  Size vectors, row_lanes, own, span, group = 128;

  Size rows() const { return row_lanes * own; }
};

FewPlan few_plan(Size m, bool is_compiled) {
  // What is compiled for Intel's GPUs takes fewer, for their registers.
  if (is_compiled) return {2, 4, 2, 16, 64};
  if (m == 2) return {2, 4, 4, 32};
  return m <= 4 ? FewPlan{4, 8, 2, 32} : FewPlan{8, 8, 2, 16};
}

/// A vector that is multiplied by packed dot products: work-items that share rows, and the fewest
/// groups that keep them busy.
constexpr Size digit_lanes = 32, least_digit_groups = 16;

bool takes_digits(const QuantizedMatmulRequest& r, const DeviceLimits& limits) {
  constexpr std::uint32_t memory = 26 << 10;
  return r.m == 1 && limits.packed_dots && limits.local_memory_bytes >= memory &&
         r.k >= least_digit_groups * quant_group;
}

std::uint32_t digit_group(const DeviceLimits& limits) {
  constexpr std::uint32_t most = 512;
  return limits.max_group_size >= most ? most : most / 2;
}

/// Rows of weights that a work-item takes at a time: few where the GPU would not be full.
Size digit_rows(const QuantizedMatmulRequest& r, Size units) {
  constexpr Size few_rows = 40;  // for each unit
  return r.products() > few_rows * units || r.is_gated ? 2 : 1;
}

/// Workgroups of `results` rows. Of a vector that they hold at once there are no more than run at a
/// time, each with as many sets of rows, since each makes the digits.
Size digit_groups(const QuantizedMatmulRequest& r, Size results, Size group, Size units) {
  constexpr Size held = 128 * quant_group, resident = 1024;  // work-items of a unit
  const Size sets = count(r.n, results), at_once = std::max<Size>(units * resident / group, 1);
  return r.k > held ? sets : count(sets, count(sets, at_once));
}

struct Tile {
  Size bm, bn, tm, tn;
  Size resident;  ///< workgroups that a processor of the GPU runs at a time
};

Tile tile_of(Size m, bool is_compiled) {
  if (is_compiled) return {16, 64, 4, 4, 4};
  if (m <= 16) return {16, 128, 4, 8, 6};
  if (m <= 32 || (m > 64 && m <= 96)) return {32, 128, 8, 8, 6};
  return {64, 128, 8, 8, 4};
}

/// Pieces of k that take the least time: whole waves of workgroups, of which the last takes less
/// where fewer share a processor, and the sums of what they leave.
Size pieces_of(const Tile& tile, Size tiles, Size groups, std::uint64_t bytes, Size units) {
  constexpr Size least_groups = 8;
  constexpr double products_per_microsecond = 160e3, bytes_per_microsecond = 3e6, join = 3.5;
  const Size fill = tile.resident * units;
  const double step = static_cast<double>(tile.resident * tile.bm * tile.bn * quant_group) /
                      products_per_microsecond;
  Size best = 1;
  double least = std::numeric_limits<double>::infinity();
  for (Size pieces = 1; pieces <= std::max<Size>(groups / least_groups, 1); ++pieces) {
    const Size all = tiles * pieces;
    if (pieces > 1 && all > 2 * fill) break;
    const double left = static_cast<double>(count(all % fill, units));
    const double last = left == 0 ? 0 : 0.1 + 0.9 * left / static_cast<double>(tile.resident);
    double time = (static_cast<double>(all / fill) + last) * step *
                  static_cast<double>(count(groups, pieces));
    if (pieces > 1) {
      time += join + 2 * static_cast<double>(bytes) * static_cast<double>(pieces) /
                         (bytes_per_microsecond * static_cast<double>(units) /
                          static_cast<double>(measured_units));
    }
    if (time < least) {
      least = time;
      best = pieces;
    }
  }
  return best;
}

}  // namespace

void GpuBackend::launch_quantized_matmul(const QuantizedMatmulRequest& r) {
  constexpr std::string_view op = "quantized_matmul";
  require(op, r.dtype);
  const std::uint64_t most = device_->limits().max_binding_bytes;
  if (r.packed.bytes > most || r.x.bytes > most || r.y.bytes > most) [[unlikely]]
    return multiply_quantized_windows(r);
  const Size groups = r.products() * (r.k / quant_group);
  multiply_quantized(
      r, {bind_planes(r.packed, r.format, groups, 0, groups,
                      [&](const BufferRange& plane) { return bind(op, plane, plane.bytes); }),
          bind(op, r.x, r.x.bytes), bind(op, r.y, r.y.bytes), r.m == 1 ? r.k : r.ldx,
          r.m == 1 ? r.n : r.ldy, r.dtype});
}

void GpuBackend::multiply_quantized(const QuantizedMatmulRequest& r, QuantizedOperands all) {
  constexpr std::string_view op = "quantized_matmul";
  const bool is_compiled = !device_->limits().compiles_templates;
  // What is compiled for Intel's GPUs does not norm, and of several rows gives the sums alone, for
  // their registers.
  const bool by_rows =
      r.m <= few && all.ldx % 4 == 0 && (!is_compiled || r.m == 1 || !(r.ends() || r.adds));
  if (by_rows && !(is_compiled && r.norm.is_asked)) return multiply_quantized_few(r, all);
  AllocationRef normed;
  if (r.norm.is_asked) {
    normed = normed_rows(op, r.norm, r.x, r.m, r.k, r.ldx, r.dtype);
    all.x = bind(op, normed, bytes_of(r.m * r.k, r.dtype));
    all.ldx = r.k;
  }
  if (by_rows) {
    QuantizedMatmulRequest rest = r;
    rest.norm = {};
    return multiply_quantized_few(rest, all);
  }
  const GemmEnd end{r.bias ? bind(op, r.bias, bytes_of(r.products(), r.dtype)) : all.x,
                    bool{r.bias}, r.activation, r.slope, r.is_gated ? r.n : 0};
  if (!r.ends()) return multiply_quantized_many(r, all, nullptr);
  // Sums are kept until their ends are made, those of so many rows at a time.
  const Size rows = kept_rows(device_->limits(), r.m, r.products(), bytes_of(all.ldx, r.dtype),
                              bytes_of(all.ldy, all.sums));
  if (rows == 0) no_window(op, bytes_of(r.m * r.products(), DType::float32), device_->limits());
  QuantizedMatmulRequest part = r;
  for (Size row = 0; row < r.m; row += rows) {
    part.m = std::min(rows, r.m - row);
    QuantizedOperands some = all;
    some.x = after(all.x, bytes_of(row * all.ldx, r.dtype));
    some.y = after(all.y, bytes_of(row * all.ldy, r.dtype));
    multiply_quantized_many(part, some, &end);
  }
}

void GpuBackend::multiply_quantized_few(const QuantizedMatmulRequest& r,
                                        const QuantizedOperands& all) {
  constexpr std::string_view op = "quantized_matmul";
  const Size groups = r.k / quant_group;
  const bool is_compiled = !device_->limits().compiles_templates;
  const bool is_weighted{r.norm.weight};
  std::vector<Binding> bindings = all.planes;
  bindings.push_back(all.x);
  bindings.push_back(all.y);
  bindings.push_back(r.bias ? bind(op, r.bias, bytes_of(r.products(), r.dtype)) : all.x);
  bindings.push_back(is_weighted ? bind(op, r.norm.weight, bytes_of(r.k, r.dtype)) : all.x);
  const struct End {
    float eps;
    std::uint32_t is_biased, adds;
    float slope;
    std::uint32_t zero;
  } end{r.norm.eps, r.bias ? 1u : 0u, r.adds ? 1u : 0u, r.slope, 0};
  const std::uint32_t normed = !r.norm.is_asked ? 0 : is_weighted ? 2 : 1;
  const std::uint32_t variant =
      (((static_cast<std::uint32_t>(r.format) * 2 + half_bit(r.dtype)) * 16 +
        static_cast<std::uint32_t>(r.activation)) *
           3 +
       normed) *
          2 +
      (r.is_gated ? 1u : 0u);
  const auto fill = [&](TemplateVariables& v) {
    set_quantized(v, r.dtype, r.format);
    v["GATED"] = std::int64_t{r.is_gated};
    v["NORM"] = std::int64_t{normed != 0};
    v["WEIGHTED"] = std::int64_t{normed == 2};
    v["ACTIVATION"] = std::string(to_string(r.activation));
  };
  if (takes_digits(r, device_->limits())) {
    const std::uint32_t group = digit_group(device_->limits());
    const Size units = device_->limits().planned_units, own = digit_rows(r, units);
    const Size results = (r.is_gated ? own / 2 : own) * group / digit_lanes;
    const struct {
      std::uint32_t n, groups;
      End end;
    } params{u32(r.n), u32(groups), end};
    return run(KernelId::quantized_digits, variant * 8 + static_cast<std::uint32_t>(own), params,
               bindings,
               cover(static_cast<std::uint64_t>(digit_groups(r, results, group, units)), 1),
               [&](TemplateVariables& v) {
                 fill(v);
                 v["GROUP"] = std::int64_t{group};
                 v["OWN"] = std::int64_t{own};
               });
  }
  if (r.m == 1) {
    constexpr Size row_lanes = 4;
    const Size own = is_compiled ? 1 : 4;
    const Size results = r.is_gated ? row_lanes * own / 2 : row_lanes * own;
    const std::uint32_t group = groups >= 64 && !is_compiled ? 256 : 128;
    const struct {
      std::uint32_t n, groups;
      End end;
    } params{u32(r.n), u32(groups), end};
    return run(KernelId::quantized_matmul, variant * 512 + group, params, bindings,
               cover(static_cast<std::uint64_t>(count(r.n, results)), 1),
               [&](TemplateVariables& v) {
                 fill(v);
                 v["GROUP"] = std::int64_t{group};
                 v["ROW_LANES"] = std::int64_t{row_lanes};
                 v["OWN"] = std::int64_t{own};
                 v["TWICE"] = std::int64_t{!is_compiled};
               });
  }
  const FewPlan plan = few_plan(r.m, is_compiled);
  const Size rows = r.is_gated ? plan.rows() / 2 : plan.rows();
  const struct {
    std::uint32_t m, n, groups, x_stride, y_stride;
    End end;
  } params{u32(r.m), u32(r.n), u32(groups), u32(all.ldx / 4), u32(all.ldy), end};
  run(KernelId::quantized_few, variant * 16 + static_cast<std::uint32_t>(plan.vectors), params,
      bindings, cover(static_cast<std::uint64_t>(count(r.n, rows) * count(r.m, plan.vectors)), 1),
      [&](TemplateVariables& v) {
        fill(v);
        v["ENDS"] = std::int64_t{!is_compiled};
        v["GROUP"] = plan.group;
        v["VECTORS"] = std::int64_t{plan.vectors};
        v["ROW_LANES"] = std::int64_t{plan.row_lanes};
        v["OWN"] = std::int64_t{plan.own};
        v["SPAN"] = std::int64_t{plan.span};
      });
}

void GpuBackend::multiply_quantized_many(const QuantizedMatmulRequest& asked,
                                         const QuantizedOperands& all, const GemmEnd* end) {
  constexpr std::string_view op = "quantized_matmul";
  QuantizedMatmulRequest r = asked;
  r.n = asked.products();
  r.ldx = all.ldx;
  r.ldy = all.ldy;
  std::vector<Binding> bindings = all.planes;
  bindings.push_back(all.x);
  bindings.push_back(all.y);
  if (all.sums == r.dtype && multiply_quantized_blocks(r, bindings, end)) return;
  const Size groups = r.k / quant_group;
  const bool is_compiled = !device_->limits().compiles_templates;
  const std::uint64_t bytes = bytes_of(r.m * r.n, DType::float32);
  const std::optional<QuantizedMatrixForm> units = quantized_matrix_form(r);
  const Tile tile = tile_of(r.m, is_compiled);
  const Size across = count(r.n, tile.bn), tiles = across * count(r.m, tile.bm);
  const Size wanted = units
                          ? units->pieces
                          : pieces_of(tile, tiles, groups, bytes, device_->limits().planned_units);
  const Size piece = count(groups, affordable(wanted, bytes));
  Size pieces = count(groups, piece);
  AllocationRef scratch;
  if (end) {
    scratch = memory_->scratch(op, bytes * static_cast<std::uint64_t>(pieces));
  } else if (pieces > 1) {
    scratch = memory_->try_scratch(op, bytes * static_cast<std::uint64_t>(pieces));
  }
  if (!scratch) pieces = 1;
  if (scratch) bindings.back() = bind(op, scratch, bytes * static_cast<std::uint64_t>(pieces));
  const Binding products = bindings.back();
  const QuantizedTarget target{scratch ? DType::float32 : all.sums, scratch ? r.n : r.ldy, pieces,
                               scratch ? piece : groups, r.adds && !scratch};
  if (units) {
    multiply_quantized_matrix(r, units->tile, target, bindings);
  } else {
    const bool vectors = r.ldx % 4 == 0;
    const struct {
      std::uint32_t m, n, groups, x_stride, y_stride, across, tiles, piece, piece_stride, adds;
    } params{u32(r.m),    u32(r.n),   u32(groups),       u32(r.ldx),     u32(target.ld),
             u32(across), u32(tiles), u32(target.piece), u32(r.m * r.n), target.adds ? 1u : 0u};
    const std::uint32_t variant = static_cast<std::uint32_t>(r.format) * 2 + half_bit(r.dtype);
    run(KernelId::quantized_tiles,
        ((variant * 2 + half_bit(target.dtype)) * 2 + (vectors ? 1 : 0)) * 128 +
            static_cast<std::uint32_t>(tile.bm),
        params, bindings, cover(static_cast<std::uint64_t>(tiles * pieces), 1),
        [&](TemplateVariables& v) {
          set_quantized(v, r.dtype, r.format);
          v["TC"] = type_name(target.dtype);
          v["VECTORS"] = std::int64_t{vectors};
          v["BM"] = std::int64_t{tile.bm};
          v["BN"] = std::int64_t{tile.bn};
          v["TM"] = std::int64_t{tile.tm};
          v["TN"] = std::int64_t{tile.tn};
        });
  }
  if (!scratch) return;
  GemmRequest joined{};
  joined.m = r.m;
  joined.n = r.n;
  joined.alpha = 1;
  joined.beta = r.adds ? 1 : 0;
  joined.ldc = r.ldy;
  joined.batch_count = 1;
  joined.output_dtype = all.sums;
  join_products(joined, pieces, products, all.y, end);
}

}  // namespace tilewright::gpu
