// o = softmax(scale q k^T) v without the matrix of scores: BQ queries and COLUMNS columns of o a
// workgroup, keys in tiles of BK, a running maximum and sum for each query.
// 0 q, 1 k, 2 v, 3 o.
// Teams of LANES work-items have ROWS queries each: its work-items lie along the keys of a tile
// while scores are made, and along the columns of o while these are used. Of k, DEEP columns of a
// tile lie in workgroup memory at a time, column by column, those of the next step beside them; of
// v, the tile.
// Variables: NY, TQ (NY * TQ is BQ), COLUMNS, CAUSAL, T; SUBGROUP (a team is a subgroup, whose
// work-items each read one of LANES elements of a query and show it to the others).
//! NY: 16
//! TQ: 4 8
//! COLUMNS: 32 64 128
//! only: TQ == 4 or COLUMNS > 32
//! T: f32 f16
//! SUBGROUP: 0 16
//! CAUSAL: constant
//! ignored: NX TK STEP KEYS VECTOR

#define LANES 16
#define BQ (NY * TQ)
#define BK 32
#define DEEP 32
#define ROWS 4
// Queries that are too many for the work-items of a group are done in parts.
#define PARTS ((BQ / ROWS + 15) / 16)
#define TEAMS (BQ / ROWS / PARTS)
#define ACROSS (COLUMNS / LANES)
#define BESIDE (BK / LANES)
// Odd, so that neighbours along the other dimension lie in other banks.
#define PITCH (BK + 1)

#if SUBGROUP
// Compilers do not see that it is the same in all work-items of a team.
#define TEAM sub_group_broadcast((uint)get_local_id(1), 0)
#else
#define TEAM ((uint)get_local_id(1))
#endif

typedef struct {
  uint share, seq_q, seq_kv, head_dim, q_offset, first_head;
  float scale;
  uint zero;
} Params;

#if SUBGROUP
__attribute__((intel_reqd_sub_group_size(SUBGROUP)))
#endif
__attribute__((reqd_work_group_size(LANES, TEAMS, 1)))
kernel void attention(global const T* q, global const T* k, global const T* v, global T* o,
                      const Params params) {
  local float tiles_k[2][DEEP][PITCH];
  local float tile_v[BK][COLUMNS];
#if !SUBGROUP
  local float shown[TEAMS][ROWS][LANES];
#endif
  local float powers[TEAMS][ROWS][BK];
  const size_t lane = get_local_id(0);
  const uint team = TEAM;
  const uint head = params.first_head + (uint)get_group_id(CAUSAL ? 0 : 1);
  // Heads of q in one batch share kv heads in their order, and so do those of the next batch.
  const size_t base_kv = (size_t)(head / params.share) * params.seq_kv;
  // Of powers of two, which are what devices have.
  const float scale = params.scale * 1.44269504f;
  const uint column0 = get_group_id(2) * COLUMNS;
  // Under a causal mask the blocks with the most keys come first.
  const uint block_index =
      CAUSAL ? get_num_groups(1) - 1 - get_group_id(1) : get_group_id(0);

  for (uint part = 0; part < PARTS; ++part) {
    const uint block = (block_index * PARTS + part) * TEAMS * ROWS;
    uint keys = params.seq_kv;
    // All queries of the part see the keys before this one.
    uint seen_by_all = keys;
    if (CAUSAL) {
      const uint last_row = min(block + TEAMS * ROWS - 1, params.seq_q - 1);
      keys = min(params.seq_kv, last_row + params.q_offset + 1);
      seen_by_all = min(keys, block + params.q_offset + 1);
    }
    const uint first_query = block + team * ROWS;
    global const T* queries[ROWS];
    UNROLL for (uint i = 0; i < ROWS; ++i) {
      const uint query = min(first_query + i, params.seq_q - 1);
      queries[i] = q + ((size_t)head * params.seq_q + query) * params.head_dim;
    }
    float tops[ROWS];
    float sums[ROWS];
    float results[ROWS][ACROSS];
    UNROLL for (uint i = 0; i < ROWS; ++i) {
      tops[i] = -INFINITY;
      sums[i] = 0;
      UNROLL for (uint c = 0; c < ACROSS; ++c) results[i][c] = 0;
    }
    uint turn = 0;
    for (uint key0 = 0; key0 < keys; key0 += BK) {
      float scores[ROWS][BESIDE];
      UNROLL for (uint i = 0; i < ROWS; ++i) {
        UNROLL for (uint j = 0; j < BESIDE; ++j) scores[i][j] = 0;
      }
      const uint tile_keys = min(BK, keys - key0);
      for (uint d0 = 0; d0 < params.head_dim; d0 += DEEP) {
        const uint end = min(DEEP, params.head_dim - d0);
        local float* tile_k = tiles_k[turn++ % 2][0];
        if (d0 == 0) local_barrier();
        for (uint key = team; key < tile_keys; key += TEAMS) {
          const size_t row = base_kv + key0 + key;
          global const T* line = k + row * params.head_dim + d0;
          UNROLL for (size_t d = lane; d < DEEP; d += LANES) {
            tile_k[d * PITCH + key] = d < end ? (float)line[d] : 0;
          }
          if (d0 > 0) continue;
          line = v + row * params.head_dim + column0;
          UNROLL for (size_t column = lane; column < COLUMNS; column += LANES) {
            const bool inside = column0 + column < params.head_dim;
            tile_v[key][column] = inside ? (float)line[column] : 0;
          }
        }
        local_barrier();
#define MULTIPLY_K(x, d)                                                                     \
  {                                                                                          \
    float y[BESIDE];                                                                         \
    UNROLL for (uint j = 0; j < BESIDE; ++j) y[j] = of_k[(d) * PITCH + j * LANES];           \
    UNROLL for (uint i = 0; i < ROWS; ++i) {                                                 \
      const float of_query = x;                                                              \
      UNROLL for (uint j = 0; j < BESIDE; ++j) {                                             \
        scores[i][j] = fma(of_query, y[j], scores[i][j]);                                    \
      }                                                                                      \
    }                                                                                        \
  }
        local const float* of_k = tile_k + lane;
#if SUBGROUP
        for (uint d = 0; d < end; d += LANES) {
          float own[ROWS];
          UNROLL for (uint i = 0; i < ROWS; ++i) {
            own[i] = d + lane < end ? (float)queries[i][d0 + d + lane] : 0;
          }
          // Written out, so that what is shown comes from a place that is known.
#define SHOWN(e) MULTIPLY_K(sub_group_broadcast(own[i], e), d + e)
#define FOUR_SHOWN(e) SHOWN(e) SHOWN(e + 1) SHOWN(e + 2) SHOWN(e + 3)
          FOUR_SHOWN(0) FOUR_SHOWN(4) FOUR_SHOWN(8) FOUR_SHOWN(12)
        }
#else
        for (uint d = 0; d < end; ++d) MULTIPLY_K((float)queries[i][d0 + d], d)
#endif
      }

      const bool hiding = key0 + BK > seen_by_all;
      UNROLL for (uint i = 0; i < ROWS; ++i) {
        float higher = -INFINITY;
        UNROLL for (uint j = 0; j < BESIDE; ++j) {
          const uint key = key0 + j * LANES + lane;
          float score = scores[i][j] * scale;
          if (hiding) {
            const bool seen = key < keys && (!CAUSAL || key <= first_query + i + params.q_offset);
            score = seen ? score : -INFINITY;
          }
          scores[i][j] = score;
          // A maximum that leaves out NaN does no harm: the powers and their sum keep it.
          higher = score > higher ? score : higher;
        }
#if SUBGROUP
        higher = sub_group_reduce_max(higher);
#else
        shown[team][i][lane] = higher;
      }
      local_barrier();
      UNROLL for (uint i = 0; i < ROWS; ++i) {
        float higher = -INFINITY;
        for (uint x = 0; x < LANES; ++x) {
          const float other = shown[team][i][x];
          higher = other > higher ? other : higher;
        }
#endif
        higher = higher > tops[i] ? higher : tops[i];
        const float factor = tops[i] == -INFINITY ? 0 : exp2(tops[i] - higher);
        const float reference = higher == -INFINITY ? 0 : higher;
        tops[i] = higher;
        sums[i] *= factor;
        UNROLL for (uint c = 0; c < ACROSS; ++c) results[i][c] *= factor;
        UNROLL for (uint j = 0; j < BESIDE; ++j) {
          scores[i][j] = exp2(scores[i][j] - reference);
          sums[i] += scores[i][j];
          powers[team][i][j * LANES + lane] = scores[i][j];
        }
      }
      local_barrier();

      local const float* of_v = tile_v[0] + lane;
#define MULTIPLY_V(x, key, seen)                                                             \
  {                                                                                          \
    float y[ACROSS];                                                                         \
    UNROLL for (uint c = 0; c < ACROSS; ++c) y[c] = of_v[(key) * COLUMNS + c * LANES];       \
    UNROLL for (uint i = 0; i < ROWS; ++i) {                                                 \
      if (seen) {                                                                            \
        const float power = x;                                                               \
        UNROLL for (uint c = 0; c < ACROSS; ++c) {                                           \
          results[i][c] = fma(power, y[c], results[i][c]);                                   \
        }                                                                                    \
      }                                                                                      \
    }                                                                                        \
  }
      if (CAUSAL && hiding) {
        // Some queries must not see some of these keys; 0 * NaN would show them.
        for (uint key = 0; key < tile_keys; ++key) {
          MULTIPLY_V(powers[team][i][key], key,
                     key0 + key <= first_query + i + params.q_offset)
        }
      } else {
        for (uint key = 0; key < tile_keys; ++key) MULTIPLY_V(powers[team][i][key], key, true)
      }
    }

#if !SUBGROUP
    local_barrier();
    UNROLL for (uint i = 0; i < ROWS; ++i) shown[team][i][lane] = sums[i];
    local_barrier();
#endif
    UNROLL for (uint i = 0; i < ROWS; ++i) {
#if SUBGROUP
      const float sum = sub_group_reduce_add(sums[i]);
#else
      float sum = 0;
      for (uint x = 0; x < LANES; ++x) sum += shown[team][i][x];
#endif
      const float share = 1 / sum;
      if (first_query + i < params.seq_q) {
        global T* line = o + ((size_t)head * params.seq_q + first_query + i) * params.head_dim;
        UNROLL for (uint c = 0; c < ACROSS; ++c) {
          const size_t column = column0 + c * LANES + lane;
          if (column < params.head_dim) line[column] = (T)(results[i][c] * share);
        }
      }
    }
    local_barrier();
  }
}
