#pragma once

#include <cstddef>

#include "core/ops/map_rows.hpp"

// map_rows in several launches. What folds find lies in `found`, that of one behind that of
// another.
namespace tilewright {

FoldRequest fold_of(const RowsRequest& r, std::size_t fold, const AllocationRef& found);
MapRequest elements_of(const RowsRequest& r, const AllocationRef& found);
MapRequest ends_of(const RowsRequest& r, const AllocationRef& found);

}  // namespace tilewright
