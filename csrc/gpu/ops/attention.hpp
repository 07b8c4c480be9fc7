#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/requests.hpp"
#include "gpu/device.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

/// HeadRows as kernels have them.
struct RowPlaces {
  std::uint32_t start, batch, head, seq;

  explicit RowPlaces(const HeadRows& rows)
      : start(u32(rows.start)), batch(u32(rows.batch)), head(u32(rows.head)), seq(u32(rows.seq)) {}
};

struct RowsOfAll {
  RowPlaces q, k, v, o;

  explicit RowsOfAll(const AttentionRequest& r)
      : q(r.q_rows), k(r.k_rows), v(r.v_rows), o(r.o_rows) {}
};

inline bool all_in_fours(const AttentionRequest& r) {
  return in_fours(r.q_rows) && in_fours(r.k_rows) && in_fours(r.v_rows) && in_fours(r.o_rows);
}

/// A workgroup's rows of q and keys at a time on matrix units: `across` subgroups share a strip of
/// wm rows.
struct UnitTile {
  std::string_view name;
  Size rows, keys, wm, across;
  bool shared;          ///< scores lie in workgroup memory where the keys were
  Size fill;            ///< how many fill the measured GPU
  double speed;         ///< TFLOP/s of it so filled
  double narrow_speed;  ///< the same of heads of up to 64 elements

  constexpr Size subgroups() const { return rows / wm * across; }
};

// clang-format off
inline constexpr UnitTile unit_tiles[] = {
    {"units-64x32",          64, 32, 16, 1, true,  230, 91, 75},
    {"units-64x32-wide",     64, 32, 16, 2, true,  230, 52, 45},
    {"units-128x32",        128, 32, 16, 1, false, 132, 102, 64},
    {"units-128x32-halves", 128, 32, 32, 2, false, 132, 72, 57}};
// clang-format on

/// Whether the tile of that number can compute it on the device, whatever else a caller asks for.
bool takes_units(std::size_t index, const AttentionRequest& r, const DeviceLimits& limits);
/// What it takes there, as tiles of plain attention count it.
double unit_cost(std::size_t index, const AttentionRequest& r, const DeviceLimits& limits);

/// Workgroups that fill the measured GPU.
inline constexpr Size enough_groups = 1024;
/// Work-items of an element where pieces are joined.
inline constexpr Size join_walkers = 4;

/// How few queries over many keys are cut up. Rows of q that see the keys of one kv head lie behind
/// each other: those of `sharing` rows go `rows` at a time, and the keys piece by piece.
struct AttentionRows {
  Size visible;  ///< keys that some query sees
  Size sharing;  ///< rows of q to a kv head
  Size rows;     ///< of those, that a workgroup has: 1, 4 or 8
  Size chunks;   ///< workgroups that the others are shared out to
  Size groups;   ///< workgroups that see the same piece of their keys
  Size piece, pieces;

  /// Scratch of a piece, where there are several.
  std::uint64_t sums_bytes(const AttentionRequest& r) const;
  std::uint64_t tops_bytes(const AttentionRequest& r) const;
};

/// How kernels call what keys and values are stored as, and its number among these.
inline std::string_view stored_keys(const AttentionRequest& r) {
  const DType dtype = r.options.page_dtype;
  return dtype == DType::int8 ? "i8" : dtype == DType::float16 ? "f16" : "f32";
}
inline std::uint32_t stored_keys_bit(const AttentionRequest& r) {
  const DType dtype = r.options.page_dtype;
  return dtype == DType::int8 ? 2 : half_bit(dtype);
}

/// Scratch of sums over pieces of keys, and behind them the maximum and the sum of each.
struct PiecesRoom {
  Size value_dim, rows;
  std::uint64_t alignment;  ///< of bindings

  std::uint64_t sums(Size pieces) const {
    const std::uint64_t bytes = bytes_of(pieces * rows * value_dim, DType::float32);
    return (bytes + alignment - 1) / alignment * alignment;
  }
  std::uint64_t tops(Size pieces) const { return bytes_of(2 * pieces * rows, DType::float32); }
  std::uint64_t all(Size pieces) const { return sums(pieces) + tops(pieces); }
  /// So many pieces, or as many as a room holds.
  Size fitting(Size pieces, std::uint64_t room) const {
    if (all(pieces) <= room) return pieces;
    const std::uint64_t less = room - std::min(room, alignment);
    return std::max<Size>(
        static_cast<Size>(less / (bytes_of(rows * value_dim, DType::float32) + tops(1))), 1);
  }
};

/// Keys of each head that some query sees, the first ones.
Size visible_keys(const AttentionRequest& r);

/// With at most so many bytes of scratch, for a GPU of so many processors.
AttentionRows plan_attention_rows(const AttentionRequest& r, std::uint64_t most_scratch,
                                  Size units = measured_units);

}  // namespace tilewright::gpu
