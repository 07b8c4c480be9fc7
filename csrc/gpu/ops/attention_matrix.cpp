#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "gpu/backend.hpp"
#include "gpu/choice_points.hpp"
#include "gpu/ops/attention.hpp"

// Attention of float16 on matrix units, of many queries, with the options of attention_many.
namespace tilewright::gpu {

namespace {

/// Float16 that a power is stored as, so that it is as exact as a float32.
constexpr Size parts = 2;
constexpr Size most_dim = 128;
/// With options fewer rows than this go elsewhere.
constexpr Size least_rows = 64;

Size count(Size size, Size part) { return (size + part - 1) / part; }
Size rounded(Size size, Size part) { return count(size, part) * part; }

/// How a tile goes over the units of a device.
struct UnitForm {
  MatrixShape shape;
  Size d, dv;  ///< of a head, rounded up to whole units
  Size strip;  ///< columns of the output that leave at a time
  Size threads;
  std::uint64_t memory;
};

/// Vec4 of workgroup memory that attention_matrix.wgsl holds, `unit` being those of sums.
Size held_of(const UnitTile& tile, Size d, Size dv, Size unit) {
  const Size k = tile.keys * (d / 8 + 1), v = tile.keys * (dv / 8 + 1);
  const Size scores = tile.rows * (tile.keys / 4 + 1);
  return std::max(tile.shared ? std::max(k, scores) + v + std::min<Size>(tile.subgroups(), 4) * unit
                              : k + v + scores,
                  tile.rows * (d / 8 + 1));
}

std::optional<UnitForm> form_with(const UnitTile& tile, const MatrixShape& shape,
                                  const AttentionRequest& r, const DeviceLimits& limits) {
  const Size um = shape.m, un = shape.n, uk = shape.k;
  const Size threads = tile.subgroups() * limits.matrix_lanes;
  const Size split = std::clamp<Size>(threads / tile.rows, 1, std::max<Size>(tile.keys / uk, 1));
  if ((um | un | uk) % 8 != 0 || tile.wm % um != 0 || tile.keys / tile.across % un != 0 ||
      tile.keys / split % uk != 0 || threads % tile.rows * (tile.rows % threads) != 0 ||
      split > 8 || threads > Size{limits.max_group_size}) {
    return std::nullopt;
  }
  UnitForm form{shape, rounded(r.head_dim, uk), rounded(r.value_dim, un * tile.across), 0, threads,
                0};
  const Size held = held_of(tile, form.d, form.dv, um * un / 4);
  const Size units = form.dv / tile.across / un;
  for (Size n = units; n > 0 && form.strip == 0; --n) {
    const Size strip = n * un;
    if (units % n == 0 && tile.subgroups() * um * (strip / 4 + 1) <= held) form.strip = strip;
  }
  form.memory = static_cast<std::uint64_t>(held * 16 + tile.rows * 4 + 4);
  if (form.strip == 0 || (!tile.shared && um * un / 4 > tile.keys * (form.d / 8 + 1)) ||
      form.memory > limits.local_memory_bytes) {
    return std::nullopt;
  }
  return form;
}

/// With the units that do the most at once.
std::optional<UnitForm> form_of(const UnitTile& tile, const AttentionRequest& r,
                                const DeviceLimits& limits) {
  std::optional<UnitForm> found;
  const auto work = [](const MatrixShape& s) { return s.m * s.n * s.k; };
  for (const MatrixShape& shape : limits.matrix_shapes) {
    if (shape.in != DType::float16 || shape.out != DType::float32 ||
        (found && work(shape) <= work(found->shape))) {
      continue;
    }
    if (const auto form = form_with(tile, shape, r, limits)) found = form;
  }
  return found;
}

bool in_eights(const HeadRows& rows) {
  return ((rows.start | rows.batch | rows.head | rows.seq) & 7) == 0;
}

Size tiles_of(const UnitTile& tile, const AttentionRequest& r) {
  const Size rows = r.heads / r.kv_heads * r.seq_q;
  return r.options.q_starts ? rows / tile.rows + r.batch : count(rows, tile.rows);
}

}  // namespace

bool takes_units(std::size_t index, const AttentionRequest& r, const DeviceLimits& limits) {
  constexpr Size most = std::numeric_limits<std::int32_t>::max() / 4;
  const Size rows = r.heads / r.kv_heads * r.seq_q;
  const DType keys = r.plain ? r.dtype : r.options.page_dtype;
  return limits.matrix_lanes != 0 && r.dtype == DType::float16 && keys == DType::float16 &&
         (r.head_dim | r.value_dim) % 8 == 0 && std::max(r.head_dim, r.value_dim) <= most_dim &&
         in_eights(r.q_rows) && in_eights(r.k_rows) && in_eights(r.v_rows) && in_eights(r.o_rows) &&
         std::max(rows, r.seq_kv) <= most &&
         tiles_of(unit_tiles[index], r) <= Size{limits.max_groups} &&
         form_of(unit_tiles[index], r, limits).has_value();
}

double unit_cost(std::size_t index, const AttentionRequest& r, const DeviceLimits& limits) {
  const UnitTile& tile = unit_tiles[index];
  const Size groups = tiles_of(tile, r) * r.kv_heads * (r.options.q_starts ? 1 : r.batch);
  return static_cast<double>(std::max(groups, filling(tile.fill, limits.planned_units)) *
                             tile.rows) /
         (std::max(r.head_dim, r.value_dim) > 64 ? tile.speed : tile.narrow_speed);
}

bool GpuBackend::attention_units(const AttentionRequest& r) {
  const DeviceLimits& limits = device_->limits();
  const AttentionOptions& options = r.options;
  const bool ragged = static_cast<bool>(options.q_starts);
  if (options.mask || (options.page_table && options.pages == 0) ||
      r.heads / r.kv_heads * r.seq_q < least_rows * (ragged ? r.batch : 1)) {
    return false;
  }
  std::optional<std::size_t> rule;
  for (std::size_t i = 0; i < std::size(unit_tiles); ++i) {
    if (!takes_units(i, r, limits)) continue;
    if (!rule || unit_cost(i, r, limits) < unit_cost(*rule, r, limits)) rule = i;
  }
  if (!rule) return false;
  // Of the point's candidates those without units are for plain attention.
  const std::size_t before = attention_choice.candidates.size() - std::size(unit_tiles);
  const std::size_t picked =
      choices_->pick(attention_choice, {r.seq_q, r.seq_kv, r.head_dim, r.batch * r.heads},
                     {r.causal, true}, before + *rule, [&](std::size_t candidate) {
                       return candidate >= before && takes_units(candidate - before, r, limits);
                     });
  attention_matrix(r, picked - before);
  return true;
}

void GpuBackend::attention_matrix(const AttentionRequest& r, std::size_t index) {
  constexpr std::string_view op = "attention";
  const AttentionOptions& options = r.options;
  const DeviceLimits& limits = device_->limits();
  const UnitTile& tile = unit_tiles[index];
  const UnitForm form = *form_of(tile, r, limits);
  const bool ragged = static_cast<bool>(options.q_starts);
  const bool paged = static_cast<bool>(options.page_table);
  const bool capped = options.soft_cap != 0;
  const Size matrices = ragged ? r.kv_heads : r.batch * r.kv_heads;
  const Size keys = r.plain ? visible_keys(r) : r.seq_kv;

  const auto bind_rows = [&](const BufferRange& range, const HeadRows& places, Size batch,
                             Size heads, Size seq, Size dim) {
    return bind(op, range, bytes_of(extent(places, batch, heads, seq, dim), r.dtype));
  };
  const Size q_batch = ragged ? 1 : r.batch;
  const Size kv_batch = paged ? options.pages : options.kv_starts ? 1 : r.batch;
  const Size kv_rows = paged ? options.page_size : keys;
  const Binding q = bind_rows(r.q, r.q_rows, q_batch, r.heads, r.seq_q, r.head_dim);
  const auto given = [&](const BufferRange& range) {
    return range ? bind(op, range, range.bytes) : q;
  };
  const std::array<Binding, 7> bindings{
      q,
      bind_rows(r.k, r.k_rows, kv_batch, r.kv_heads, kv_rows, r.head_dim),
      bind_rows(r.v, r.v_rows, kv_batch, r.kv_heads, kv_rows, r.value_dim),
      bind_rows(r.o, r.o_rows, q_batch, r.heads, r.seq_q, r.value_dim),
      given(options.kv_starts ? options.kv_starts : options.kv_lengths),
      given(options.q_starts),
      given(options.page_table)};
  const std::uint32_t page_size = u32(std::max<Size>(options.page_size, 1));
  // Of plain attention the request says no more than whether it is causal.
  const Size low = r.plain ? -r.seq_q : options.low;
  const Size high = !r.plain ? options.high : r.causal ? std::min(r.q_offset, r.seq_kv) : r.seq_kv;
  constexpr double log2_e = 1.4426950408889634;
  const double scale = r.scale, cap = options.soft_cap;
  struct {
    std::uint32_t share, kv_heads, batch, first_matrix;
    std::int32_t seq_q, seq_kv;
    std::uint32_t head_dim, value_dim;
    std::int32_t low, high;
    std::uint32_t slots, page_size, page_shift, pages;
    float factor, cap;
    std::uint32_t zero;
    RowsOfAll places;
  } params{
      u32(r.heads / r.kv_heads),
      u32(r.kv_heads),
      u32(r.batch),
      0,
      static_cast<std::int32_t>(r.seq_q),
      static_cast<std::int32_t>(keys),
      u32(r.head_dim),
      u32(r.value_dim),
      static_cast<std::int32_t>(low),
      static_cast<std::int32_t>(high),
      paged ? u32(r.seq_kv / options.page_size) : 0,
      page_size,
      std::has_single_bit(page_size) ? static_cast<std::uint32_t>(std::countr_zero(page_size)) : 32,
      u32(options.pages),
      static_cast<float>(capped ? scale / cap : scale * log2_e),
      static_cast<float>(cap * log2_e),
      0,
      RowsOfAll(r)};
  const std::uint32_t lengths = options.kv_starts ? 2 : options.kv_lengths ? 1 : 0;
  std::uint32_t variant = u32(index);
  const auto add = [&](std::uint32_t value, std::uint32_t values) {
    variant = variant * values + value;
  };
  add(u32(form.d / 8), u32(most_dim));
  add(u32(form.dv / 8), u32(most_dim));
  add(capped, 2);
  add(lengths, 3);
  add(ragged, 2);
  add(paged, 2);
  add(options.at_end, 2);
  add(!r.plain, 2);
  const Size tiles = tiles_of(tile, r), most_groups = limits.max_groups;
  for (Size first = 0; first < matrices; first += most_groups) {
    params.first_matrix = u32(first);
    const std::array<std::uint32_t, 3> grid{u32(std::min(most_groups, matrices - first)),
                                            u32(tiles), 1};
    run(KernelId::attention_matrix, variant, params, bindings, grid, [&](TemplateVariables& v) {
      v["BQ"] = tile.rows;
      v["KEYS"] = tile.keys;
      v["WM"] = tile.wm;
      v["ACROSS"] = tile.across;
      v["SHARED"] = std::int64_t{tile.shared};
      v["PARTS"] = parts;
      v["UM"] = std::int64_t{form.shape.m};
      v["UN"] = std::int64_t{form.shape.n};
      v["UK"] = std::int64_t{form.shape.k};
      v["LANES"] = std::int64_t{limits.matrix_lanes};
      v["D"] = form.d;
      v["DV"] = form.dv;
      v["STRIP"] = form.strip;
      v["CAP"] = std::int64_t{capped};
      v["LENGTHS"] = std::int64_t{lengths};
      v["RAGGED"] = std::int64_t{ragged};
      v["PAGED"] = std::int64_t{paged};
      v["AT_END"] = std::int64_t{options.at_end};
      v["EMPTY"] = std::int64_t{!r.plain};
    });
  }
}

}  // namespace tilewright::gpu
