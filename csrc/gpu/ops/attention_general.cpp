#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "core/text.hpp"
#include "gpu/backend.hpp"
#include "gpu/ops/attention.hpp"

// Attention with options: one kernel for all of them, in a form for few rows and one for many.
namespace tilewright::gpu {

namespace {

struct GeneralTile {
  Size nx, ny;  ///< work-items beside each other for the keys and columns, for the rows

  Size rows() const { return 4 * ny; }
  Size columns() const { return 4 * nx; }
};

constexpr GeneralTile narrow_few{16, 4}, narrow_many{16, 16}, wide_few{32, 2}, wide_many{32, 8};
/// Up to so many rows go in small tiles, the keys of which are cut into pieces.
constexpr Size few_rows = 32;
/// The fewest keys that are worth a piece.
constexpr Size least_piece = 256;

Size count(Size size, Size part) { return (size + part - 1) / part; }

}  // namespace

void GpuBackend::attention_general(const AttentionRequest& r) {
  constexpr std::string_view op = "attention";
  const AttentionOptions& options = r.options;
  const DeviceLimits& limits = device_->limits();
  const bool ragged = static_cast<bool>(options.q_starts);
  constexpr Size most = std::numeric_limits<std::int32_t>::max() / 4;
  if (std::max(r.seq_q, r.seq_kv) > most || r.seq_q * (r.heads / r.kv_heads) > most) {
    throw Unsupported(text(op, ": ", r.seq_q, " queries and ", r.seq_kv, " keys are more than ",
                           most, "; split the work into several calls"));
  }
  if (attention_decode(r) || attention_units(r) || attention_many(r)) return;
  const Size share = r.heads / r.kv_heads;
  const Size most_rows = share * r.seq_q;
  const bool few = ragged ? most_rows <= few_rows * r.batch : most_rows <= few_rows;
  const bool vector = r.head_dim % 4 == 0 && r.value_dim % 4 == 0 && all_in_fours(r);
  // What is compiled for Intel's GPUs has not the registers for many rows by their elements.
  const bool small = few || (!vector && !limits.compiles_templates);
  // Nor for few rows of int8 in wide tiles.
  const bool narrow = r.value_dim <= narrow_few.columns() ||
                      (few && options.page_scales && !limits.compiles_templates);
  const GeneralTile tile =
      narrow ? (small ? narrow_few : narrow_many) : (few ? wide_few : wide_many);
  const Size slices = count(r.value_dim, tile.columns());
  const Size tiles = ragged ? most_rows / tile.rows() + r.batch : count(most_rows, tile.rows());
  const Size matrices = ragged ? r.kv_heads : r.batch * r.kv_heads;

  // Of few rows the keys are cut until the GPU is full. How many a sequence has the device knows.
  const Size rows = r.batch * r.heads * r.seq_q;
  Size pieces = 1;
  AllocationRef sums;
  const PiecesRoom scratch{r.value_dim, rows, limits.binding_alignment};
  if (few && !ragged) {
    const Size seen = std::min(r.seq_kv, options.high - options.low + r.seq_q);
    const Size wanted = filling(enough_groups, limits.planned_units) / (matrices * tiles * slices);
    pieces = std::clamp<Size>(wanted, 1, std::max<Size>(seen / least_piece, 1));
    const Size fitting = pieces > 1 ? scratch.fitting(pieces, budget()->room()) : 1;
    if (fitting < pieces) plans_by_room();
    pieces = fitting;
    if (pieces > 1) {
      sums = memory_->try_scratch(op, scratch.all(pieces));
      if (!sums) {
        plans_by_room();
        pieces = 1;
      }
    }
  }
  const bool cut = pieces > 1, scaled = options.page_dtype == DType::int8;

  const auto bind_rows = [&](const BufferRange& range, const HeadRows& places, Size batch,
                             Size heads, Size seq, Size dim, DType dtype) {
    return bind(op, range, bytes_of(extent(places, batch, heads, seq, dim), dtype));
  };
  const Size q_batch = ragged ? 1 : r.batch;
  const Size kv_batch = options.page_table ? options.pages : options.kv_starts ? 1 : r.batch;
  const Size kv_rows = options.page_table ? options.page_size : r.seq_kv;
  const Binding q = bind_rows(r.q, r.q_rows, q_batch, r.heads, r.seq_q, r.head_dim, r.dtype);
  const Binding o = bind_rows(r.o, r.o_rows, q_batch, r.heads, r.seq_q, r.value_dim, r.dtype);
  const auto given = [&](const BufferRange& range) {
    return range ? bind(op, range, range.bytes) : q;
  };
  const std::array<Binding, 8> bindings{
      q,
      bind_rows(r.k, r.k_rows, kv_batch, r.kv_heads, kv_rows, r.head_dim, options.page_dtype),
      bind_rows(r.v, r.v_rows, kv_batch, r.kv_heads, kv_rows, r.value_dim, options.page_dtype),
      cut ? bind(op, sums, scratch.all(pieces)) : o,
      given(ragged ? options.q_starts : options.mask),
      given(options.kv_starts ? options.kv_starts : options.kv_lengths),
      given(options.page_table),
      given(options.page_scales)};

  struct {
    std::uint32_t share, kv_heads, batch, first_matrix;
    std::int32_t seq_q, seq_kv;
    std::uint32_t head_dim, value_dim;
    std::int32_t low, high;
    std::uint32_t pieces, rows, tops, slots, page_size, pages;
    float scale, cap, below_cap;
    std::uint32_t zero;
    RowsOfAll places;
    std::uint32_t m_batch, m_head, m_query, m_key;
  } params{u32(share),
           u32(r.kv_heads),
           u32(r.batch),
           0,
           static_cast<std::int32_t>(r.seq_q),
           static_cast<std::int32_t>(r.seq_kv),
           u32(r.head_dim),
           u32(r.value_dim),
           static_cast<std::int32_t>(options.low),
           static_cast<std::int32_t>(options.high),
           u32(pieces),
           u32(rows),
           cut ? static_cast<std::uint32_t>(scratch.sums(pieces) / sizeof(float)) : 0,
           options.page_table ? u32(r.seq_kv / options.page_size) : 0,
           u32(options.page_size),
           u32(options.pages),
           r.scale,
           options.soft_cap,
           options.soft_cap == 0 ? 0 : 1 / options.soft_cap,
           0,
           RowsOfAll(r),
           u32(options.mask_rows.batch),
           u32(options.mask_rows.head),
           u32(options.mask_rows.seq),
           u32(options.mask_key)};
  const Size most_groups = limits.max_groups;
  if (tiles * pieces > most_groups || slices > most_groups) {
    throw Unsupported(text(op, ": ", r.seq_q, " queries of ", r.value_dim,
                           " are too many at once for ", device_->info().name, ", which takes ",
                           most_groups, " blocks of ", tile.rows(),
                           "; split the queries into several calls"));
  }
  const std::uint32_t mask = !options.mask ? 0 : options.mask_dtype == DType::boolean ? 1 : 2;
  const std::uint32_t lengths = options.kv_starts ? 2 : options.kv_lengths ? 1 : 0;
  std::uint32_t variant = (tile.nx == 32 ? 2 : 0) + (tile.ny <= 4 ? 1 : 0);
  const auto add = [&](std::uint32_t value, std::uint32_t values) {
    variant = variant * values + value;
  };
  add(vector, 2);
  add(cut, 2);
  add(half_bit(r.dtype), 2);
  add(stored_keys_bit(r), 3);
  add(mask, 3);
  add(options.soft_cap != 0, 2);
  add(lengths, 3);
  add(ragged, 2);
  add(static_cast<bool>(options.page_table), 2);
  add(options.at_end, 2);
  for (Size first = 0; first < matrices; first += most_groups) {
    params.first_matrix = u32(first);
    const std::array<std::uint32_t, 3> grid{u32(std::min(most_groups, matrices - first)),
                                            u32(tiles * pieces), u32(slices)};
    run(KernelId::attention_general, variant, params, std::span(bindings).first(scaled ? 8 : 7),
        grid, [&](TemplateVariables& v) {
          v["NX"] = std::int64_t{tile.nx};
          v["NY"] = std::int64_t{tile.ny};
          v["VECTOR"] = std::int64_t{vector};
          v["PIECES"] = std::int64_t{cut};
          v["T"] = type_name(r.dtype);
          v["KV"] = std::string(stored_keys(r));
          v["MASK"] = std::int64_t{mask};
          v["CAP"] = std::int64_t{options.soft_cap != 0};
          v["LENGTHS"] = std::int64_t{lengths};
          v["RAGGED"] = std::int64_t{ragged};
          v["PAGED"] = std::int64_t{static_cast<bool>(options.page_table)};
          v["AT_END"] = std::int64_t{options.at_end};
        });
  }
  if (cut) join_pieces(r, sums, scratch, o, pieces);
}

void GpuBackend::join_pieces(const AttentionRequest& r, const AllocationRef& sums,
                             const PiecesRoom& scratch, const Binding& o, Size pieces) {
  const Size rows = scratch.rows, n = rows * r.value_dim;
  const std::uint64_t past = scratch.sums(pieces);
  const struct {
    std::uint32_t n, rows, dim, pieces, zero, heads, seq_q;
    RowPlaces o;
  } join{u32(n), u32(rows),    u32(r.value_dim), u32(pieces),
         0,      u32(r.heads), u32(r.seq_q),     RowPlaces(r.o_rows)};
  const std::array<Binding, 3> join_bindings{
      bind("attention", BufferRange(sums, 0, past), past),
      bind("attention", BufferRange(sums, past, scratch.tops(pieces)), scratch.tops(pieces)), o};
  run(KernelId::attention_join, 6 + half_bit(r.dtype), join, join_bindings,
      cover(static_cast<std::uint64_t>(n), group_size / join_walkers), [&](TemplateVariables& v) {
        set_common(v, r.dtype);
        v["STRIDED"] = std::int64_t{1};
        v["EMPTY"] = std::int64_t{1};
      });
}

}  // namespace tilewright::gpu
