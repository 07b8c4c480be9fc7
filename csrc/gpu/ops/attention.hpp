#pragma once

#include "core/requests.hpp"
#include "gpu/device.hpp"

namespace tilewright::gpu {

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

/// Keys of each head that some query sees, the first ones.
Size visible_keys(const AttentionRequest& r);

/// With at most so many bytes of scratch, for a GPU of so many processors.
AttentionRows plan_attention_rows(const AttentionRequest& r, std::uint64_t most_scratch,
                                  Size units = measured_units);

}  // namespace tilewright::gpu
