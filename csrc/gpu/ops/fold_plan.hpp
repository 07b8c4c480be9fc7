#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/requests.hpp"
#include "gpu/fold_bindings.hpp"
#include "tilewright/types.hpp"

// How reductions and scans of programs are cut into workgroups and pieces.
namespace tilewright::gpu {

/// A part of the elements that one launch may read.
struct FoldRegion {
  std::vector<Size> shape;    ///< kept dimensions, then the others
  std::vector<Size> offsets;  ///< of each operand, in elements
  Size place = 0;             ///< of its first element among those that are reduced
};

/// One launch: how it goes, and what it takes and leaves besides the operands.
struct FoldStep {
  std::uint32_t group = 1;  ///< work-items of a workgroup, a power of two
  bool rows = true;
  std::uint16_t walkers = 1, unroll = 1;
  Size pieces = 1, piece = 1;
  bool scan = false, exclusive = false;
  bool takes_parts = false, leaves_parts = false;
  Size first_part = 0;
  AllocationRef from, from_places;  ///< parts that are reduced or scanned
  AllocationRef to, to_places;      ///< those that are left
  AllocationRef carry;              ///< what the pieces of a scan start with
};

/// Enough workgroups for the measured GPU, of scans and of what is reduced.
constexpr Size enough_groups = 2048, enough_to_reduce = 16384;

Size product(std::span<const Size> sizes);
Size results_of(const FoldRequest& r, const FoldRegion& region);
Size length_of(const FoldRequest& r, const FoldRegion& region);
constexpr Size rounded_up(Size n, Size unit) { return groups_of(n, unit) * unit; }

/// Whether neighbouring work-items take neighbouring elements of one result, or of neighbouring
/// results, as the inputs lie.
bool walks_rows(const FoldRequest& r, const FoldRegion& region);

/// How many rows of few columns a launch goes through as one, so that no work-item beside others
/// that read side by side is without a column: 1 where that does not matter.
Size rows_as_one(const FoldRequest& r, const FoldRegion& region);

/// Workgroups of those, which leave a part for each of the rows, of moments several numbers long.
constexpr Size enough_of_rows_as_one(Reduction op) {
  return enough_groups / (op == Reduction::moments ? 8 : 4);
}

/// The request of so many rows as one, and its region but for rows that are left over.
std::pair<FoldRequest, FoldRegion> as_one(const FoldRequest& r, const FoldRegion& region,
                                          Size together);

/// How one launch reduces `length` elements to each of `results`, by about so many workgroups at
/// most of the measured GPU.
FoldStep plan_reduction(bool rows, Reduction op, Size results, Size length, Size group, Size units,
                        Size most_groups);
FoldStep plan_scan(bool rows, Size results, Size length, Size group, Size units);

}  // namespace tilewright::gpu
