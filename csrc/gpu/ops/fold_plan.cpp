#include "gpu/ops/fold_plan.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <span>

#include "core/program/program_data.hpp"
#include "gpu/device.hpp"

namespace tilewright::gpu {

namespace {

/// So many that hold results of their own need no pieces.
constexpr Size enough_blocks = 1024;
/// Rounds of a scan that take less time than two more launches.
constexpr Size few_rounds = 16;
/// Elements that a walker joins one after another at most, so that the errors of sums do not grow
/// with their number.
constexpr Size most_in_a_row = 256;
/// Neighbouring columns that make whole reads of memory.
constexpr Size columns_side_by_side = 32;
/// Neighbours that a result has side by side are too few for reads of their own, where others of it
/// lie elsewhere and those of the next result follow.
constexpr Size few_side_by_side = 8;

}  // namespace

Size product(std::span<const Size> sizes) {
  Size all = 1;
  for (const Size size : sizes) all *= size;
  return all;
}

Size results_of(const FoldRequest& r, const FoldRegion& region) {
  return product(std::span(region.shape).first(r.kept));
}
Size length_of(const FoldRequest& r, const FoldRegion& region) {
  return product(std::span(region.shape).subspan(r.kept));
}

bool walks_rows(const FoldRequest& r, const FoldRegion& region) {
  if (r.kept == 0 || region.shape[r.kept - 1] == 1) return true;
  if (r.kept == r.rank) return false;
  const Size side_by_side = region.shape[r.rank - 1];
  const bool is_scattered = side_by_side <= few_side_by_side && r.rank - r.kept > 1 &&
                            region.shape[r.kept - 1] >= columns_side_by_side;
  for (std::size_t o = 0; o < r.front->inputs.size(); ++o) {
    const Size kept = magnitude(r.strides(o)[r.kept - 1]);
    const Size reduced = magnitude(r.strides(o)[r.rank - 1]);
    if (kept == reduced) continue;
    if (is_scattered && kept == side_by_side * reduced) return false;
    return kept == 0 || (reduced != 0 && reduced < kept);
  }
  return true;
}

Size rows_as_one(const FoldRequest& r, const FoldRegion& region) {
  constexpr Size least_elements = Size{1} << 20, least_length = 64;
  if (r.finds_place() || r.kept != 1 || r.rank != 2) return 1;
  const Size columns = region.shape[0], length = region.shape[1];
  const Size together = columns_side_by_side / std::gcd(columns, columns_side_by_side);
  if (columns == 1 || columns >= columns_side_by_side || columns * length < least_elements ||
      length < least_length * together) {
    return 1;
  }
  for (std::size_t o = 0; o < r.front->inputs.size(); ++o) {
    const auto strides = r.strides(o);
    const bool is_dense = strides[0] == 1 && strides[1] == columns;
    if (!is_dense && (strides[0] != 0 || strides[1] != 0)) return 1;
  }
  return together;
}

std::pair<FoldRequest, FoldRegion> as_one(const FoldRequest& r, const FoldRegion& region,
                                          Size together) {
  FoldRequest wide = r;
  const Size columns = region.shape[0] * together;
  wide.sizes[0] = columns;
  wide.sizes[1] = region.shape[1] / together;
  for (std::size_t o = 0; o < r.front->inputs.size(); ++o) {
    if (r.strides(o)[0] != 0) wide.sizes[(1 + o) * r.rank + 1] = columns;
  }
  return {wide, {{wide.sizes[0], wide.sizes[1]}, region.offsets, 0}};
}

FoldStep plan_reduction(bool rows, Reduction op, Size results, Size length, Size group, Size units,
                        Size most_groups) {
  FoldStep s;
  s.group = static_cast<std::uint32_t>(group);
  s.rows = rows;
  constexpr Size depth = 4;
  Size walkers = 1;
  if (rows) {
    walkers = std::min(bit_ceil(groups_of(length, quad * depth)), group);
  } else {
    const Size most = group / std::min(bit_ceil(results), std::min(columns_side_by_side, group));
    walkers = std::min(bit_ceil(groups_of(length, quad * depth)), most);
  }
  const Size blocks = groups_of(results, group / walkers);
  const Size enough = blocks >= filling(enough_blocks, units) ? 1 : most_groups;
  const Size wanted = std::clamp<Size>(filling(enough, units) / blocks, 1,
                                       groups_of(length, 2 * quad * depth * walkers));
  Size unroll = 1;
  if (op == Reduction::moments) {
    // Elements that are read at once have their mean and squares as two passes have them.
    unroll = std::clamp<Size>(bit_ceil(groups_of(length, quad * walkers)), 1, depth);
  } else if (length >= 2 * quad * depth * walkers) {
    // Where there are many workgroups, they keep as many reads on their way as one by several.
    const bool places = op == Reduction::argmax || op == Reduction::argmin;
    unroll = wanted > 1 ? 1 : places ? depth / 2 : depth;
  }
  s.walkers = static_cast<std::uint16_t>(walkers);
  s.unroll = static_cast<std::uint16_t>(unroll);
  const Size of_round = quad * walkers * unroll;
  const Size most = most_in_a_row * of_round;
  s.piece = rounded_up(std::min(groups_of(length, wanted), most), quad);
  s.pieces = groups_of(length, s.piece);
  return s;
}

FoldStep plan_scan(bool rows, Size results, Size length, Size group, Size units) {
  FoldStep s;
  s.group = static_cast<std::uint32_t>(group);
  s.rows = rows;
  s.scan = true;
  Size walkers = 1;
  if (rows) {
    walkers = std::min(bit_ceil(groups_of(length, quad)), group);
  } else {
    walkers = group / std::clamp(bit_ceil(results), std::min(columns_side_by_side, group), group);
  }
  s.walkers = static_cast<std::uint16_t>(walkers);
  const Size of_round = quad * walkers;
  const Size blocks = groups_of(results, group / walkers);
  // A piece is read twice, which pays where there would be too few workgroups.
  const Size wanted = length <= few_rounds * of_round
                          ? 1
                          : std::clamp<Size>(filling(enough_groups, units) / blocks, 1,
                                             groups_of(length, 4 * of_round));
  s.piece = rounded_up(groups_of(length, wanted), quad);
  s.pieces = groups_of(length, s.piece);
  return s;
}

}  // namespace tilewright::gpu
