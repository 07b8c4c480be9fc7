// o = softmax(scale q k^T) v without the matrix of scores: BQ queries and COLUMNS columns of o a
// workgroup, keys in tiles, a running maximum and sum for each query.
// 0 q, 1 k, 2 v, 3 o.
// Variables: NY, TQ (NY * TQ is BQ), COLUMNS, CAUSAL, T; SUBGROUP (0: any work-items do; see the
// two forms); WHOLE (1: head_dim is a multiple of COLUMNS, and rows start on vectors of four).
//! twin: subgroups of 16 read it by blocks on Intel's GPUs
//! NY: 16
//! TQ: 4 8
//! COLUMNS: 32 64 128
//! only: TQ == 4 or COLUMNS > 32
//! T: f32 f16
//! SUBGROUP: 0 16
//! CAUSAL: constant
//! WHOLE: constant
//! ignored: NX TK STEP KEYS VECTOR
#include "head_rows.h"
#include "subgroups.h"

#define LANES 16
#define BQ (NY * TQ)

typedef struct {
  uint share, heads, seq_q, seq_kv, head_dim, q_offset, first_head;
  float scale;
  uint zero;
  HeadRows q, k, v, o;
} Params;

/// What a workgroup has to do. Under a causal mask the blocks with the most keys come first.
#define HEAD(params) ((params).first_head + (uint)get_group_id(CAUSAL ? 0 : 1))
#define BLOCK_INDEX ((uint)(CAUSAL ? get_num_groups(1) - 1 - get_group_id(1) : get_group_id(0)))

/// Keys that some of the queries from `block` on see, and those that all of them do.
static inline uint2 seen_from(uint block, uint queries, const Params* params) {
  if (!CAUSAL) return (uint2)(params->seq_kv, params->seq_kv);
  const uint last = min(block + queries - 1, params->seq_q - 1);
  const uint some = min(params->seq_kv, last + params->q_offset + 1);
  return (uint2)(some, min(some, block + params->q_offset + 1));
}

#if SUBGROUP
#include "attention_subgroups.h"
#else
#include "attention_plain.h"
#endif
