#include "gpu/backend.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_attention_scores(const AttentionScoresRequest& r) {
  multiply_rows("attention_scores", {r.keys, r.q, r.scores, r.key_rows, r.q_rows, r.score_rows,
                                     r.seq, r.head_dim, r.heads, r.kv_heads, r.scale, r.dtype});
}

}  // namespace tilewright::gpu
