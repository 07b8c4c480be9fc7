#pragma once

#include "core/requests.hpp"
#include "cpu/memory.hpp"

namespace tilewright::cpu {

/// Sorts rows whose places are not asked for.
void sort_values(MemoryPool& pool, const SortRequest& request);

}  // namespace tilewright::cpu
