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

// Attention of few queries with options: a kernel that reads each key and value once for all heads
// that share them, the keys of long sequences piece by piece.
namespace tilewright::gpu {

namespace {

/// Up to so many queries a sequence go one by one.
constexpr Size most_queries = 4;
/// The longest rows of k and v.
constexpr Size most_columns = 256;
/// How much of k makes a piece: so little where there are few groups, and at most so much, since
/// one sequence may be far longer than the others.
constexpr Size least_piece_bytes = 32768;
constexpr Size most_piece_bytes = 131072;
/// Groups at most, of those that fill the GPU.
constexpr Size times_enough = 16;

Size count(Size size, Size part) { return (size + part - 1) / part; }

bool in_whole(const HeadRows& rows, Size elements) {
  return ((rows.start | rows.batch | rows.head | rows.seq) & (elements - 1)) == 0;
}

}  // namespace

bool GpuBackend::attention_decode(const AttentionRequest& r) {
  constexpr std::string_view op = "attention";
  const AttentionOptions& options = r.options;
  const DeviceLimits& limits = device_->limits();
  const bool ragged = static_cast<bool>(options.q_starts);
  const bool paged = static_cast<bool>(options.page_table);
  const Size queries = ragged ? r.seq_q : r.batch * r.seq_q;
  const DType stored = options.page_dtype;
  const bool scaled = stored == DType::int8;
  const Size columns = stored == DType::float32 ? 4 : 8;  // of 16 bytes, of int8 of 8
  const Size longest = std::max(r.head_dim, r.value_dim);
  if (options.mask || queries > most_queries * r.batch || longest > most_columns ||
      (r.head_dim | r.value_dim) % columns != 0 || (paged && options.pages == 0) ||
      !in_whole(r.q_rows, 4) || !in_whole(r.k_rows, columns) || !in_whole(r.v_rows, columns)) {
    return false;
  }
  const Size lanes = std::max<Size>(
      static_cast<Size>(std::bit_ceil(static_cast<std::size_t>(count(longest, columns)))),
      32 / columns);
  const Size share = r.heads / r.kv_heads;
  // What is compiled for Intel's GPUs has not the registers for more.
  const bool roomy = limits.compiles_templates;
  const Size rows_of_group = std::min<Size>(
      static_cast<Size>(std::bit_ceil(static_cast<std::size_t>(share))), roomy ? 4 : 16 / columns);
  const Size chunks = count(share, rows_of_group);
  const Size groups = queries * r.kv_heads * chunks;
  const Size all_rows = (ragged ? 1 : r.batch) * r.heads * r.seq_q;

  const PiecesRoom scratch{r.value_dim, all_rows, limits.binding_alignment};
  const Size seen = std::min(r.seq_kv, options.high - options.low + 1);
  const Size row_bytes = r.head_dim * static_cast<Size>(size_of(stored));
  const Size enough = filling(enough_groups, limits.planned_units);
  const Size least =
      std::clamp<Size>(seen * groups / enough, std::max<Size>(least_piece_bytes / row_bytes, 64),
                       std::max<Size>(most_piece_bytes / row_bytes, 64));
  Size pieces =
      std::clamp<Size>(seen / least, 1, std::max<Size>(times_enough * enough / groups, 1));
  // Short code where there is little to do, more reads under way where there is much.
  const bool shortly = count(seen, pieces) * row_bytes <= 2 * least_piece_bytes;
  const Size keys_of_walker = !roomy || (shortly && rows_of_group > 1) ? 2 : 4;
  AllocationRef sums;
  if (pieces > 1) {
    const Size fitting = scratch.fitting(pieces, budget()->room());
    if (fitting < pieces) plans_by_room();
    pieces = fitting;
  }
  if (pieces > 1) {
    sums = memory_->try_scratch(op, scratch.all(pieces));
    if (!sums) {
      plans_by_room();
      pieces = 1;
    }
  }
  const bool cut = pieces > 1;

  const auto bind_rows = [&](const BufferRange& range, const HeadRows& places, Size batch,
                             Size heads, Size seq, Size dim, DType dtype) {
    return bind(op, range, bytes_of(extent(places, batch, heads, seq, dim), dtype));
  };
  const Size q_batch = ragged ? 1 : r.batch;
  const Size kv_batch = paged ? options.pages : options.kv_starts ? 1 : r.batch;
  const Size kv_rows = paged ? options.page_size : r.seq_kv;
  const Binding q = bind_rows(r.q, r.q_rows, q_batch, r.heads, r.seq_q, r.head_dim, r.dtype);
  const Binding o = bind_rows(r.o, r.o_rows, q_batch, r.heads, r.seq_q, r.value_dim, r.dtype);
  const auto given = [&](const BufferRange& range) {
    return range ? bind(op, range, range.bytes) : q;
  };
  const Binding sums_of_pieces = cut ? bind(op, sums, scratch.all(pieces)) : o;
  const std::array<Binding, 8> bindings{
      q,
      bind_rows(r.k, r.k_rows, kv_batch, r.kv_heads, kv_rows, r.head_dim, stored),
      bind_rows(r.v, r.v_rows, kv_batch, r.kv_heads, kv_rows, r.value_dim, stored),
      sums_of_pieces,
      given(options.kv_starts ? options.kv_starts : options.kv_lengths),
      given(options.q_starts),
      given(options.page_table),
      given(options.page_scales)};

  const std::uint32_t page_size = u32(std::max<Size>(options.page_size, 1));
  const struct {
    std::uint32_t share, chunks, kv_heads, heads, batch, queries, seq_q;
    std::int32_t seq_kv;
    std::uint32_t head_dim, value_dim;
    std::int32_t low, high;
    std::uint32_t pieces;
    std::int32_t least;
    std::uint32_t rows, tops, groups, slots, page_size, page_shift, pages;
    float scale, cap, below_cap;
    std::uint32_t zero;
    RowsOfAll places;
  } params{
      u32(share),
      u32(chunks),
      u32(r.kv_heads),
      u32(r.heads),
      u32(r.batch),
      u32(queries),
      u32(r.seq_q),
      static_cast<std::int32_t>(r.seq_kv),
      u32(r.head_dim),
      u32(r.value_dim),
      static_cast<std::int32_t>(options.low),
      static_cast<std::int32_t>(options.high),
      u32(pieces),
      static_cast<std::int32_t>(least),
      u32(all_rows),
      cut ? static_cast<std::uint32_t>(scratch.sums(pieces) / sizeof(float)) : 0,
      u32(groups * pieces),
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
  std::uint32_t variant = u32((lanes * 8 + rows_of_group) * 2 + keys_of_walker / 4);
  const auto add = [&](std::uint32_t value, std::uint32_t values) {
    variant = variant * values + value;
  };
  add(cut, 2);
  add(half_bit(r.dtype), 2);
  add(stored_keys_bit(r), 3);
  add(options.soft_cap != 0, 2);
  add(lengths, 3);
  add(ragged, 2);
  add(paged, 2);
  add(options.at_end, 2);
  run(KernelId::attention_decode, variant, params, std::span(bindings).first(scaled ? 8 : 7),
      cover(static_cast<std::uint64_t>(groups * pieces), 1), [&](TemplateVariables& v) {
        v["LANES"] = std::int64_t{lanes};
        v["ROWS"] = std::int64_t{rows_of_group};
        v["KEYS"] = std::int64_t{keys_of_walker};
        v["PIECES"] = std::int64_t{cut};
        v["T"] = type_name(r.dtype);
        v["KV"] = std::string(stored_keys(r));
        v["CAP"] = std::int64_t{options.soft_cap != 0};
        v["LENGTHS"] = std::int64_t{lengths};
        v["RAGGED"] = std::int64_t{ragged};
        v["PAGED"] = std::int64_t{paged};
        v["AT_END"] = std::int64_t{options.at_end};
      });
  if (cut) join_pieces(r, sums, scratch, o, pieces);
  return true;
}

}  // namespace tilewright::gpu
