#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "gpu/backend.hpp"
#include "gpu/ops/attention.hpp"

// Attention of many queries with options, in the tiles of plain attention.
namespace tilewright::gpu {

namespace {

struct ManyTile {
  Size ny, tq;  ///< work-items beside each other for the rows, and rows of one
  Size keys;    ///< rows of v in workgroup memory
  Size workgroup_bytes;

  Size rows() const { return ny * tq; }
};

constexpr Size many_nx = 16, many_tk = 4, many_step = 16;
/// What the scales of a tile's rows take there besides.
constexpr Size scales_bytes = many_nx * many_tk * 8;
constexpr ManyTile many_tiles[] = {{16, 8, 8, 43008}, {16, 4, 8, 29696}};
/// Fewer rows than this go in the smaller tiles of attention_general.
constexpr Size least_rows = 64;
constexpr Size most_columns = 128;

Size count(Size size, Size part) { return (size + part - 1) / part; }

}  // namespace

bool GpuBackend::attention_many(const AttentionRequest& r) {
  constexpr std::string_view op = "attention";
  const AttentionOptions& options = r.options;
  const DeviceLimits& limits = device_->limits();
  const bool ragged = static_cast<bool>(options.q_starts);
  const bool paged = static_cast<bool>(options.page_table);
  const bool scaled = options.page_dtype == DType::int8;
  const Size share = r.heads / r.kv_heads;
  const Size most_rows = share * r.seq_q;
  const Size columns =
      std::clamp<Size>(static_cast<Size>(std::bit_ceil(static_cast<std::size_t>(r.value_dim))),
                       4 * many_nx, most_columns);
  if (!limits.compiles_templates || options.mask || (paged && options.pages == 0) ||
      (r.head_dim | r.value_dim) % 4 != 0 || !all_in_fours(r) ||
      most_rows < least_rows * (ragged ? r.batch : 1)) {
    return false;
  }
  const Size slices = count(r.value_dim, columns);
  const Size matrices = ragged ? r.kv_heads : r.batch * r.kv_heads;
  const auto tiles_of = [&](const ManyTile& tile) {
    return ragged ? most_rows / tile.rows() + r.batch : count(most_rows, tile.rows());
  };
  const auto can_run = [&](const ManyTile& tile) {
    return many_nx * tile.ny <= Size{limits.max_group_size} &&
           tile.workgroup_bytes + (scaled ? scales_bytes : 0) <= Size{limits.local_memory_bytes};
  };
  // The larger one where its groups fill the GPU.
  const Size work = ragged ? count(most_rows, many_tiles[0].rows()) : tiles_of(many_tiles[0]);
  const bool large = can_run(many_tiles[0]) && work * matrices * slices >= limits.planned_units;
  const ManyTile& tile = many_tiles[large ? 0 : 1];
  if (!can_run(tile)) return false;
  const Size tiles = tiles_of(tile);
  const Size most_groups = limits.max_groups;
  if (tiles > most_groups || slices > most_groups) return false;

  const auto bind_rows = [&](const BufferRange& range, const HeadRows& places, Size batch,
                             Size heads, Size seq, Size dim, DType dtype) {
    return bind(op, range, bytes_of(extent(places, batch, heads, seq, dim), dtype));
  };
  const Size q_batch = ragged ? 1 : r.batch;
  const Size kv_batch = paged ? options.pages : options.kv_starts ? 1 : r.batch;
  const Size kv_rows = paged ? options.page_size : r.seq_kv;
  const Binding q = bind_rows(r.q, r.q_rows, q_batch, r.heads, r.seq_q, r.head_dim, r.dtype);
  const auto given = [&](const BufferRange& range) {
    return range ? bind(op, range, range.bytes) : q;
  };
  const std::array<Binding, 8> bindings{
      q,
      bind_rows(r.k, r.k_rows, kv_batch, r.kv_heads, kv_rows, r.head_dim, options.page_dtype),
      bind_rows(r.v, r.v_rows, kv_batch, r.kv_heads, kv_rows, r.value_dim, options.page_dtype),
      bind_rows(r.o, r.o_rows, q_batch, r.heads, r.seq_q, r.value_dim, r.dtype),
      given(options.kv_starts ? options.kv_starts : options.kv_lengths),
      given(options.q_starts),
      given(options.page_table),
      given(options.page_scales)};
  const std::uint32_t page_size = u32(std::max<Size>(options.page_size, 1));
  struct {
    std::uint32_t share, kv_heads, batch, first_matrix;
    std::int32_t seq_q, seq_kv;
    std::uint32_t head_dim, value_dim;
    std::int32_t low, high;
    std::uint32_t slots, page_size, page_shift, pages;
    float scale, cap, below_cap;
    std::uint32_t zero;
    RowsOfAll places;
  } params{
      u32(share),
      u32(r.kv_heads),
      u32(r.batch),
      0,
      static_cast<std::int32_t>(r.seq_q),
      static_cast<std::int32_t>(r.seq_kv),
      u32(r.head_dim),
      u32(r.value_dim),
      static_cast<std::int32_t>(options.low),
      static_cast<std::int32_t>(options.high),
      paged ? u32(r.seq_kv / options.page_size) : 0,
      page_size,
      std::has_single_bit(page_size) ? static_cast<std::uint32_t>(std::countr_zero(page_size)) : 32,
      u32(options.pages),
      r.scale,
      options.soft_cap,
      options.soft_cap == 0 ? 0 : 1 / options.soft_cap,
      0,
      RowsOfAll(r)};
  const std::uint32_t lengths = options.kv_starts ? 2 : options.kv_lengths ? 1 : 0;
  std::uint32_t variant = u32(columns) * 2 + (large ? 1 : 0);
  const auto add = [&](std::uint32_t value, std::uint32_t values) {
    variant = variant * values + value;
  };
  add(half_bit(r.dtype), 2);
  add(stored_keys_bit(r), 3);
  add(options.soft_cap != 0, 2);
  add(lengths, 3);
  add(ragged, 2);
  add(paged, 2);
  add(options.at_end, 2);
  for (Size first = 0; first < matrices; first += most_groups) {
    params.first_matrix = u32(first);
    const std::array<std::uint32_t, 3> grid{u32(std::min(most_groups, matrices - first)),
                                            u32(tiles), u32(slices)};
    run(KernelId::attention_many, variant, params, std::span(bindings).first(scaled ? 8 : 7), grid,
        [&](TemplateVariables& v) {
          v["NX"] = std::int64_t{many_nx};
          v["NY"] = std::int64_t{tile.ny};
          v["TQ"] = std::int64_t{tile.tq};
          v["TK"] = std::int64_t{many_tk};
          v["STEP"] = std::int64_t{many_step};
          v["KEYS"] = std::int64_t{tile.keys};
          v["COLUMNS"] = std::int64_t{columns};
          v["T"] = type_name(r.dtype);
          v["KV"] = std::string(stored_keys(r));
          v["CAP"] = std::int64_t{options.soft_cap != 0};
          v["LENGTHS"] = std::int64_t{lengths};
          v["RAGGED"] = std::int64_t{ragged};
          v["PAGED"] = std::int64_t{paged};
          v["AT_END"] = std::int64_t{options.at_end};
        });
  }
  return true;
}

}  // namespace tilewright::gpu
