#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/requests.hpp"
#include "gpu/device.hpp"
#include "gpu/template.hpp"
#include "tilewright/types.hpp"

namespace tilewright::gpu {

/// Work-items of the kernels that walk a range.
inline constexpr std::uint32_t group_size = 256;
/// Vectors of four that a work-item of the elementwise kernels reads before it uses the first: as
/// measured, 32 bytes.
inline std::uint32_t vectors_of_item(DType dtype) { return dtype == DType::float16 ? 4 : 2; }

/// The grid for `groups` workgroups in a row, folded into two dimensions where one does not hold
/// them; kernels count them as x + y * width and leave those past the end alone.
inline std::array<std::uint32_t, 3> row_grid(std::uint64_t groups, std::uint32_t max_groups) {
  if (groups <= max_groups) return {static_cast<std::uint32_t>(groups), 1, 1};
  const std::uint64_t rows = (groups + max_groups - 1) / max_groups;
  return {static_cast<std::uint32_t>((groups + rows - 1) / rows), static_cast<std::uint32_t>(rows),
          1};
}

/// A size that a checked request keeps below 2^32, since its buffers fit in a binding.
inline std::uint32_t u32(Size size) { return static_cast<std::uint32_t>(size); }

inline std::uint64_t bytes_of(Size elements, DType dtype) {
  return static_cast<std::uint64_t>(elements) * size_of(dtype);
}

/// Work-items of every subgroup, where all have as many and kernels can count on it: 8 to 32, else
/// 0.
inline std::uint32_t uniform_lanes(const DeviceLimits& limits) {
  const std::uint32_t lanes = limits.least_subgroup;
  return limits.compiles_templates && lanes == limits.most_subgroup && lanes >= 8 && lanes <= 32
             ? lanes
             : 0;
}

/// Elements from the start of a range to the end of the last of the rows in it.
inline Size extent(const HeadRows& rows, Size batch, Size heads, Size seq, Size length) {
  return rows.start + (batch - 1) * rows.batch + (heads - 1) * rows.head + (seq - 1) * rows.seq +
         length;
}

/// Whether all rows start on a vector of four.
inline bool in_fours(const HeadRows& rows) {
  return ((rows.start | rows.batch | rows.head | rows.seq) & 3) == 0;
}

/// How the work-items of a workgroup share out rows that their registers hold.
struct RowPlan {
  std::uint32_t group;    ///< work-items
  std::uint32_t walkers;  ///< of one row; a power of two
  std::uint32_t vectors;  ///< of four elements a work-item

  bool fits() const { return vectors <= 16; }
};

/// Of few rows each is walked by more work-items, so that each has less to wait for. `spread` has
/// as many as read memory side by side, also where one could hold a row.
inline RowPlan plan_rows(Size length, bool are_few = false, bool spread = false) {
  constexpr std::size_t least_group = 128, side_by_side = 8, short_row = 256;
  const std::size_t vectors = (static_cast<std::size_t>(length) + 3) / 4;
  std::size_t comfortable_vectors = are_few ? 2 : 8, least = 1;
  if (spread) {
    least = std::min(std::bit_ceil(vectors), side_by_side);
    if (!are_few && vectors <= short_row) comfortable_vectors = length % 4 == 0 ? 4 : 2;
  }
  const std::size_t walkers = std::min<std::size_t>(
      std::max(std::bit_ceil((vectors + comfortable_vectors - 1) / comfortable_vectors), least),
      group_size);
  return {static_cast<std::uint32_t>(std::max(walkers, least_group)),
          static_cast<std::uint32_t>(walkers),
          static_cast<std::uint32_t>((vectors + walkers - 1) / walkers)};
}

/// Rows that are too long for it, in workgroups of up to `largest`; those of fewer registers each
/// take more work-items.
inline RowPlan plan_long_rows(Size length, std::size_t largest) {
  constexpr std::array<std::array<std::size_t, 2>, 2> shapes{{{512, 12}, {1024, 8}}};
  const std::size_t vectors = (static_cast<std::size_t>(length) + 3) / 4;
  RowPlan plan = plan_rows(length);
  for (const auto& [walkers, most] : shapes) {
    if (plan.fits() || walkers > largest || vectors > walkers * most) continue;
    plan = {static_cast<std::uint32_t>(walkers), static_cast<std::uint32_t>(walkers),
            static_cast<std::uint32_t>((vectors + walkers - 1) / walkers)};
  }
  return plan;
}

/// How few long rows are cut into pieces, a workgroup each; one where they are not.
struct PiecePlan {
  Size pieces = 1, piece = 0;
};
inline PiecePlan plan_pieces(Size rows, Size length, const DeviceLimits& limits) {
  constexpr Size groups_of_unit = 4, one_read = 16 * group_size;
  const Size groups = groups_of_unit * limits.planned_units;
  // What no registers hold is read twice in any case.
  const bool is_held = plan_long_rows(length, limits.max_group_size).fits();
  if (rows <= 0 || rows > (is_held ? limits.planned_units : groups)) return {};
  const Size wanted =
      std::clamp<Size>((length + one_read - 1) / one_read, 1, std::max<Size>(groups / rows, 2));
  const Size piece = ((length + wanted - 1) / wanted + 3) / 4 * 4;
  return {(length + piece - 1) / piece, piece};
}

/// What kernels call a storage type.
inline std::string type_name(DType dtype) {
  if (dtype == DType::int32) return "i32";
  return dtype == DType::float16 ? "f16" : "f32";
}

/// The variables that most kernels have.
inline void set_common(TemplateVariables& variables, DType dtype) {
  variables["GROUP"] = std::int64_t{group_size};
  variables["T"] = type_name(dtype);
}

inline void set_rows(TemplateVariables& variables, DType dtype, const RowPlan& plan) {
  variables["GROUP"] = std::int64_t{plan.group};
  variables["WALKERS"] = std::int64_t{plan.walkers};
  variables["VECTORS"] = std::int64_t{plan.vectors};
  variables["T"] = type_name(dtype);
}

inline std::uint32_t half_bit(DType dtype) { return dtype == DType::float16 ? 1 : 0; }

}  // namespace tilewright::gpu
