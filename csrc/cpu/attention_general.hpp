#pragma once

#include "core/requests.hpp"
#include "cpu/memory.hpp"

namespace tilewright::cpu {

/// Attention with any of its options.
void general_attention(const AttentionRequest& request, MemoryPool& pool);

}  // namespace tilewright::cpu
