#pragma once

#include "core/requests.hpp"
#include "cpu/memory.hpp"

namespace tilewright::cpu {

/// Sorts rows whose places are not asked for.
void sort_values(MemoryPool& pool, const SortRequest& request);

/// Whether keys with places behind them sort the rows, and that.
bool has_short_rows(const SortRequest& request);
void sort_short_places(MemoryPool& pool, const SortRequest& request);

}  // namespace tilewright::cpu
