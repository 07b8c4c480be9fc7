// How a team of gemm.cl multiplies by itself: tiles of A (by rows) and of B (k by k) lie in
// workgroup memory. No compiler can count what is read of them at a time: Intel's would come by all
// of a step first, in registers that the sums need.
typedef float Sums[COLUMNS];

// Odd, so that neighbours along the other dimension lie in other banks.
#define PITCH_A (BK + 1)
#define PITCH_B (BN + 1)
#define SHARED_FLOATS (2 * (PART * PITCH_A + BK * PITCH_B))

/// A tile of an operand: `width` rows of A or columns of B from `first` on, of `extent`; `length`
/// of k from `deep` on. It goes to to[along * along_step + k * deep_step].
static inline void read_tile(local float* to, uint along_step, uint deep_step, global const T* from,
                             uint ld, bool deep_first, uint width, uint first, uint extent,
                             uint deep, uint length) {
  const size_t lane = get_local_id(0);
  const uint team = get_local_id(1);
  if (deep_first) {
    // None where a part of a tile begins past the end.
    const uint here = min(width, max(extent, first) - first);
    for (uint along = team; along < here; along += TEAMS) {
      global const T* line = from + (size_t)(first + along) * ld + deep;
      const float value = lane < length ? (float)line[lane] : 0;
      to[along * along_step + lane * deep_step] = rounded(value, ROUND);
    }
  } else {
    for (uint i = team; i < length * (width / LANES); i += TEAMS) {
      const uint k = i / (width / LANES);
      const size_t along = i % (width / LANES) * LANES + lane;
      global const T* line = from + (size_t)(deep + k) * ld;
      const float value = line[SMALL ? min(first + (uint)along, extent - 1) : first + along];
      to[along * along_step + k * deep_step] = rounded(value, ROUND);
    }
  }
}

static inline void multiply(Sums* sums, local float* shared, global const T* a, global const T* b,
                            const Params* params, Place at) {
  local float* const tiles_b = shared + 2 * PART * PITCH_A;
  const size_t lane = get_local_id(0);
  const uint steps = (at.depth + BK - 1) / BK;
  uint deep = at.start;
  uint length = at.depth - max(steps, 1u) * BK + BK;
  // The two tiles in turn, so that one barrier a step will do.
  for (uint step = 0; step < steps; ++step) {
    local float* tile_a = shared + step % 2 * (PART * PITCH_A);
    local float* tile_b = tiles_b + step % 2 * (BK * PITCH_B);
    read_tile(tile_a, PITCH_A, 1, a, params->lda, !TA, PART, at.top, params->m, deep, length);
    read_tile(tile_b, 1, PITCH_B, b, params->ldb, TB, BN, at.left, params->n, deep, length);
    local_barrier();
    local const float* of_a = tile_a + ROWS_OF(TEAM) * PITCH_A;
    local const float* of_b = tile_b + COLUMNS_OF(TEAM) + lane;
    for (uint k = 0; k < length; ++k) {
      float y[COLUMNS];
      UNROLL for (uint j = 0; j < COLUMNS; ++j) y[j] = of_b[k * PITCH_B + j * LANES];
      UNROLL for (uint i = 0; i < ROWS; ++i) {
        const float x = of_a[i * PITCH_A + k];
        UNROLL for (uint j = 0; j < COLUMNS; ++j) sums[i][j] = fma(x, y[j], sums[i][j]);
      }
    }
    deep += length;
    length = BK;
  }
}
