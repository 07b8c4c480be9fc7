#include "gpu/ops/attention.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/text.hpp"
#include "gpu/backend.hpp"
#include "gpu/choice_points.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

namespace {

/// The most and the least columns of the output that a workgroup holds.
constexpr Size most_columns = 128;
constexpr Size least_columns = 32;

struct AttentionTile {
  std::string_view name;  ///< queries x keys
  Size nx, ny;            ///< work-items beside each other for the keys, for the queries
  Size tq, tk;            ///< queries and keys of a work-item
  Size step;              ///< columns of q and k that lie in workgroup memory at a time
  Size keys;              ///< rows of v that do
  Size workgroup_bytes;   ///< at most_columns
  Size fill;              ///< how many fill the measured GPU
  double speed;           ///< TFLOP/s of it so filled

  Size queries() const { return ny * tq; }
};

/// The first runs everywhere: it fits in 16 KiB.
constexpr AttentionTile attention_tiles[] = {
    {"64x32", 8, 16, 4, 4, 8, 4, 13312, 264, 19},
    {"64x64", 16, 16, 4, 4, 16, 8, 28672, 132, 20},
    {"128x64", 16, 16, 8, 4, 16, 8, 42240, 132, 26},
};

constexpr std::size_t plain_tiles = std::size(attention_tiles);
/// Those on matrix units come last.
constexpr auto tile_names = [] {
  std::array<std::string_view, plain_tiles + std::size(unit_tiles)> names;
  for (std::size_t i = 0; i < plain_tiles; ++i) names[i] = attention_tiles[i].name;
  for (std::size_t i = 0; i < std::size(unit_tiles); ++i) {
    names[plain_tiles + i] = unit_tiles[i].name;
  }
  return names;
}();

/// Up to so many queries go one by one, with the keys cut into pieces until the GPU is full, which
/// the measured one is of enough_groups.
constexpr Size few_queries = 4;
constexpr Size least_piece = 256;
/// The same of rows that share their keys: as many as a workgroup sees at a time.
constexpr Size least_shared_piece = 64;
constexpr Size most_of_piece = 16384;
Size count(Size size, Size part) { return (size + part - 1) / part; }

bool can_run(std::size_t index, const AttentionRequest& r, Size columns,
             const DeviceLimits& limits) {
  if (index >= plain_tiles) return takes_units(index - plain_tiles, r, limits);
  const AttentionTile& tile = attention_tiles[index];
  return index == 0 ||
         (columns % (4 * tile.nx) == 0 && tile.nx * tile.ny <= Size{limits.max_group_size} &&
          tile.workgroup_bytes <= Size{limits.local_memory_bytes});
}

std::size_t choose_tile(const AttentionRequest& r, Size columns, const DeviceLimits& limits) {
  std::size_t chosen = 0;
  double least = 0;
  for (std::size_t i = 0; i < std::size(tile_names); ++i) {
    if (!can_run(i, r, columns, limits)) continue;
    if (i >= plain_tiles) {
      const double time = unit_cost(i - plain_tiles, r, limits);
      if (time < least) {
        chosen = i;
        least = time;
      }
      continue;
    }
    const AttentionTile& tile = attention_tiles[i];
    const Size groups = (r.seq_q + tile.queries() - 1) / tile.queries() * r.batch * r.heads *
                        ((r.head_dim + columns - 1) / columns);
    const double time =
        static_cast<double>(std::max(groups, filling(tile.fill, limits.planned_units)) *
                            tile.queries()) /
        tile.speed;
    if (i == 0 || time < least) {
      chosen = i;
      least = time;
    }
  }
  return chosen;
}

}  // namespace

constinit const ChoicePoint attention_choice{"attention", tile_names, {"causal", "float16"}};

std::uint64_t AttentionRows::sums_bytes(const AttentionRequest& r) const {
  return bytes_of(pieces * r.batch * r.heads * r.seq_q * r.head_dim, DType::float32);
}

std::uint64_t AttentionRows::tops_bytes(const AttentionRequest& r) const {
  return bytes_of(2 * pieces * r.batch * r.heads * r.seq_q, DType::float32);
}

Size visible_keys(const AttentionRequest& r) {
  return r.causal ? std::min(r.seq_kv, std::min(r.q_offset, r.seq_kv) + r.seq_q) : r.seq_kv;
}

AttentionRows plan_attention_rows(const AttentionRequest& r, std::uint64_t most_scratch,
                                  Size units) {
  AttentionRows p{};
  p.visible = visible_keys(r);
  p.sharing = r.heads / r.kv_heads * r.seq_q;
  // Eight wide rows would not fit in 16 KiB.
  const Size most_rows = r.head_dim > most_columns ? 4 : 8;
  p.rows = p.sharing == 1 ? 1 : p.sharing <= 4 ? 4 : most_rows;
  p.chunks = count(p.sharing, p.rows);
  p.groups = r.batch * r.kv_heads * p.chunks;
  const auto cut = [&](Size wanted) {
    p.piece = std::min(count(p.visible, wanted), most_of_piece);
    p.pieces = count(p.visible, p.piece);
  };
  const Size least = std::max(least_piece / p.rows, least_shared_piece);
  cut(std::clamp<Size>(filling(enough_groups, units) / p.groups, 1,
                       std::max<Size>(p.visible / least, 1)));
  const std::uint64_t scratch = p.sums_bytes(r) + p.tops_bytes(r);
  if (p.pieces > 1 && scratch > most_scratch) {
    const auto fitting =
        static_cast<Size>(most_scratch / (scratch / static_cast<std::uint64_t>(p.pieces)));
    p.pieces = std::max<Size>(fitting, 1);
    p.piece = count(p.visible, p.pieces);
    p.pieces = count(p.visible, p.piece);
  }
  return p;
}

void GpuBackend::attention_rows(const AttentionRequest& r, std::span<const Binding> inputs,
                                const Binding& output) {
  constexpr std::string_view op = "attention";
  const std::uint64_t room = budget()->room();
  AttentionRows p = plan_attention_rows(r, ~std::uint64_t{0}, device_->limits().planned_units);
  if (p.pieces > 1 && p.sums_bytes(r) + p.tops_bytes(r) > room) {
    plans_by_room();
    p = plan_attention_rows(r, room, device_->limits().planned_units);
  }
  const Size rows = r.batch * r.heads * r.seq_q;
  const Size n = rows * r.head_dim;
  const bool vector = r.head_dim % 4 == 0 && all_in_fours(r);
  const auto columns =
      static_cast<std::uint32_t>(std::bit_ceil(static_cast<std::size_t>(r.head_dim)));
  std::vector<Binding> bindings(inputs.begin(), inputs.end());
  AllocationRef sums;
  AllocationRef tops;
  if (p.pieces > 1) {
    sums = memory_->try_scratch(op, p.sums_bytes(r));
    if (sums) tops = memory_->try_scratch(op, p.tops_bytes(r));
    if (!tops) {
      plans_by_room();
      p.pieces = 1;
      p.piece = p.visible;
    }
  }
  if (p.pieces == 1) {
    bindings.push_back(output);
  } else {
    bindings.push_back(bind(op, sums, p.sums_bytes(r)));
    bindings.push_back(bind(op, tops, p.tops_bytes(r)));
  }
  const std::uint32_t q_offset = u32(std::min(r.q_offset, r.seq_kv));
  const RowsOfAll places(r);
  const std::uint32_t variant =
      ((((columns * 2 + (vector ? 1 : 0)) * 2 + (r.causal ? 1 : 0)) * 2 + (p.pieces > 1 ? 1 : 0)) *
           2 +
       half_bit(r.dtype)) *
          2 +
      (p.rows == 8 ? 1 : 0);
  const auto fill = [&](TemplateVariables& v) {
    set_common(v, r.dtype);
    v["COLUMNS"] = std::int64_t{columns};
    v["VECTOR"] = std::int64_t{vector};
    v["CAUSAL"] = std::int64_t{r.causal};
    v["PIECES"] = std::int64_t{p.pieces > 1};
    if (p.rows > 1) v["FOURS"] = p.rows / 4;
  };
  const auto grid = cover(static_cast<std::uint64_t>(p.groups * p.pieces), 1);
  if (p.rows == 1) {
    const struct {
      std::uint32_t rows, share, heads, seq_q, seq_kv, head_dim, q_offset, pieces, piece;
      float scale;
      std::uint32_t zero;
      RowsOfAll places;
    } params{u32(rows),
             u32(r.heads / r.kv_heads),
             u32(r.heads),
             u32(r.seq_q),
             u32(r.seq_kv),
             u32(r.head_dim),
             q_offset,
             u32(p.pieces),
             u32(p.piece),
             r.scale,
             0,
             places};
    run(KernelId::attention_rows, variant, params, bindings, grid, fill);
  } else {
    const struct {
      std::uint32_t rows, sharing, chunks, groups, kv_heads, seq_q, seq_kv, head_dim, q_offset;
      std::uint32_t pieces, piece;
      float scale;
      std::uint32_t zero;
      RowsOfAll places;
    } params{u32(rows),
             u32(p.sharing),
             u32(p.chunks),
             u32(p.groups),
             u32(r.kv_heads),
             u32(r.seq_q),
             u32(r.seq_kv),
             u32(r.head_dim),
             q_offset,
             u32(p.pieces),
             u32(p.piece),
             r.scale,
             0,
             places};
    run(KernelId::attention_shared, variant, params, bindings, grid, fill);
  }
  if (p.pieces == 1) return;
  const struct {
    std::uint32_t n, rows, head_dim, pieces, zero, heads, seq_q;
    RowPlaces o;
  } join{u32(n), u32(rows),    u32(r.head_dim), u32(p.pieces),
         0,      u32(r.heads), u32(r.seq_q),    places.o};
  const bool gaps = r.o_rows.start != 0 || r.o.bytes != bytes_of(n, r.dtype) ||
                    r.o_rows.seq != r.head_dim || r.o_rows.head != r.seq_q * r.head_dim;
  const std::array<Binding, 3> join_bindings{bindings[3], bindings[4], output};
  run(KernelId::attention_join, (gaps ? 2 : 0) + half_bit(r.dtype), join, join_bindings,
      cover(static_cast<std::uint64_t>(n), group_size / join_walkers), [&](TemplateVariables& v) {
        set_common(v, r.dtype);
        v["STRIDED"] = std::int64_t{gaps};
        v["EMPTY"] = std::int64_t{0};
      });
}

void GpuBackend::launch_attention(const AttentionRequest& r) {
  constexpr std::string_view op = "attention";
  require(op, r.dtype);
  if (!r.plain) return attention_general(r);
  const Size columns =
      std::clamp<Size>(static_cast<Size>(std::bit_ceil(static_cast<std::size_t>(r.head_dim))),
                       least_columns, most_columns);
  const bool fours = all_in_fours(r);
  const bool vector = fours && r.head_dim % 4 == 0;
  const bool whole = fours && r.head_dim % columns == 0;
  const auto bind_rows = [&](const BufferRange& range, const HeadRows& rows, Size heads, Size seq) {
    return bind(op, range, bytes_of(extent(rows, r.batch, heads, seq, r.head_dim), r.dtype));
  };
  // Up to the last key of the last head that is seen.
  const Size keys = visible_keys(r);
  const std::array<Binding, 4> bindings{
      bind_rows(r.q, r.q_rows, r.heads, r.seq_q), bind_rows(r.k, r.k_rows, r.kv_heads, keys),
      bind_rows(r.v, r.v_rows, r.kv_heads, keys), bind_rows(r.o, r.o_rows, r.heads, r.seq_q)};
  if (r.seq_q <= few_queries && r.head_dim <= group_size) {
    return attention_rows(r, std::span(bindings).first(3), bindings[3]);
  }
  struct {
    std::uint32_t share, heads, seq_q, seq_kv, head_dim, q_offset, first_head;
    float scale;
    std::uint32_t zero;
    RowsOfAll places;
  } params{u32(r.heads / r.kv_heads),
           u32(r.heads),
           u32(r.seq_q),
           u32(r.seq_kv),
           u32(r.head_dim),
           u32(std::min(r.q_offset, r.seq_kv)),
           0,
           r.scale,
           0,
           RowsOfAll(r)};
  const Size most = device_->limits().max_groups;
  const std::size_t tile_index = choices_->pick(
      attention_choice, {r.seq_q, r.seq_kv, r.head_dim, r.batch * r.heads},
      {r.causal, r.dtype == DType::float16}, choose_tile(r, columns, device_->limits()),
      [&](std::size_t candidate) { return can_run(candidate, r, columns, device_->limits()); });
  if (tile_index >= plain_tiles) return attention_matrix(r, tile_index - plain_tiles);
  const AttentionTile& tile = attention_tiles[tile_index];
  const Size blocks = (r.seq_q + tile.queries() - 1) / tile.queries();
  const Size slices = (r.head_dim + columns - 1) / columns;
  if (blocks > most || slices > most) {
    throw Unsupported(text(op, ": ", r.seq_q, " queries of ", r.head_dim,
                           " are too many at once for ", device_->info().name, ", which takes ",
                           most, " blocks of ", tile.queries(),
                           "; split the queries into several calls"));
  }
  const std::uint32_t form = u32(columns) * u32(std::size(attention_tiles)) + u32(tile_index);
  const std::uint32_t variant =
      (((form * 2 + (vector ? 1 : 0)) * 2 + (whole ? 1 : 0)) * 2 + (r.causal ? 1 : 0)) * 2 +
      half_bit(r.dtype);
  for (Size first = 0; first < r.batch * r.heads; first += most) {
    params.first_head = u32(first);
    const Size heads = std::min(most, r.batch * r.heads - first);
    // Under a causal mask the blocks with the most keys start first, those of all heads together.
    const std::array<std::uint32_t, 3> groups =
        r.causal ? std::array{u32(heads), u32(blocks), u32(slices)}
                 : std::array{u32(blocks), u32(heads), u32(slices)};
    run(KernelId::attention, variant, params, bindings, groups, [&](TemplateVariables& v) {
      v["NX"] = std::int64_t{tile.nx};
      v["NY"] = std::int64_t{tile.ny};
      v["TQ"] = std::int64_t{tile.tq};
      v["TK"] = std::int64_t{tile.tk};
      v["STEP"] = std::int64_t{tile.step};
      v["KEYS"] = std::int64_t{tile.keys};
      v["T"] = type_name(r.dtype);
      v["COLUMNS"] = std::int64_t{columns};
      v["VECTOR"] = std::int64_t{vector};
      v["WHOLE"] = std::int64_t{whole};
      v["CAUSAL"] = std::int64_t{r.causal};
    });
  }
}

}  // namespace tilewright::gpu
