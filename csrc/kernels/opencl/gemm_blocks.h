// How a team of gemm.cl multiplies that is a subgroup: it reads its columns of a row of B as one
// block from memory, since the teams of a workgroup find them in the same cache. Of A its
// work-items read an element each, of all ROWS rows at STEP places of k, and show it to the others.
// Where B is stored transposed the workgroup turns tiles of it in its memory. C is no smaller than
// a tile, and each row of B as stored begins at a multiple of four bytes.
typedef float Sums[COLUMNS];
// More k at a time do not fit into the registers of Intel GPUs.
#define STEP (LANES / ROWS)

ushort2 CONVERGENT intel_sub_group_block_read_us2(const global ushort* from);
ushort4 CONVERGENT intel_sub_group_block_read_us4(const global ushort* from);

#if COLUMNS == 4
#define OF_COLUMNS(type) FOUR(type)
#define read_words(from) intel_sub_group_block_read4((global const uint*)(from))
#define read_halves(from) intel_sub_group_block_read_us4((global const ushort*)(from))
#else
#define OF_COLUMNS(type) TWO(type)
#define read_words(from) intel_sub_group_block_read2((global const uint*)(from))
#define read_halves(from) intel_sub_group_block_read_us2((global const ushort*)(from))
#endif
typedef OF_COLUMNS(f32) Row;

#if T_IS_f32
#define read_block(from) read_words(from)
#else
#define read_block(from) read_halves(from)
#endif

#if TB
// Odd, so that neighbours along k lie in other banks.
#define PITCH (BN + 1)
#define SHARED_FLOATS (2 * BK * PITCH)

/// Turns `length` of k from `deep` on into tile[k * PITCH + column].
static inline void turn(local float* tile, global const T* b, const Params* params, Place at,
                        uint deep, uint length) {
  const uint lane = LANE;
  for (uint column = TEAM; column < BN; column += TEAMS) {
    const uint line = at.left + column;
    const float value = lane < length ? (float)b[(size_t)line * params->ldb + deep + lane] : 0;
    tile[lane * PITCH + column] = rounded(value, ROUND);
  }
}

/// The team's columns of B, of which `place` is the first, from a tile.
static inline Row row_of_b(local const float* tile, uint place) {
  const uint own = place + (uint)get_local_id(0);
  Row row;
  UNROLLED(COLUMNS, j, row[j] = tile[own + j * LANES];)
  return row;
}
#define ROW_OF_B row_of_b(tile, place_b)
#define NEXT_OF_B PITCH
#else
/// The team's columns of B, of which `place` is the first.
static inline Row row_of_b(global const T* b, uint place) {
  Row row = convert(__builtin_astype(read_block(b + place), OF_COLUMNS(T)), Row);
  UNROLLED(COLUMNS, j, row[j] = rounded(row[j], ROUND);)
  return row;
}
#define ROW_OF_B row_of_b(b, place_b)
#define NEXT_OF_B params->ldb
#endif

/// The products of one k, whose elements of A the work-items from `from` on have as x.
#define MULTIPLY(from)                                               \
  {                                                                  \
    const Row y = ROW_OF_B;                                          \
    place_b += NEXT_OF_B;                                            \
    UNROLL for (uint i = 0; i < ROWS; ++i) {                         \
      const float one = sub_group_broadcast(x, (from) + i);          \
      UNROLLED(COLUMNS, j, sums[i][j] = fma(one, y[j], sums[i][j]);) \
    }                                                                \
  }

static inline void multiply(Sums* sums, local float* shared, global const T* a, global const T* b,
                            const Params* params, Place at) {
  const uint end = at.start + at.depth;
  const uint team = TEAM;
  const uint lane = LANE;
  // Places are numbers and no pointers, whose arithmetic costs Intel GPUs more.
  const uint next_row = TA ? 1 : params->lda;
  const uint next_of_a = TA ? params->lda : 1;
  const uint row = at.top + ROWS_OF(team) + lane % ROWS;
  const uint own_of_a = row * next_row;
  uint place_a = at.start * next_of_a;
#if TB
  local float* tile = shared;
  uint place_b = COLUMNS_OF(team);
#else
  (void)shared;
  uint place_b = at.start * params->ldb + at.left + COLUMNS_OF(team);
#endif
  uint deep = at.start;
  const uint rest = at.depth % BK;
  if (rest > 0) {
#if TB
    turn(tile, b, params, at, deep, rest);
    local_barrier();
#endif
    for (uint k = 0; k < rest; ++k) {
      const float x = rounded((float)a[place_a + own_of_a], ROUND);
      place_a += next_of_a;
      MULTIPLY(0)
    }
    deep += rest;
  }
  const uint ahead_of_a = own_of_a + lane / ROWS * next_of_a;
  while (deep < end) {
#if TB
    // The two halves in turn, so that one barrier a tile will do.
    tile = tile == shared ? shared + BK * PITCH : shared;
    turn(tile, b, params, at, deep, BK);
    local_barrier();
    place_b = COLUMNS_OF(team);
    const uint stop = min(deep + BK, end);
#else
    const uint stop = end;
#endif
    for (; deep < stop; deep += STEP) {
      const float x = rounded((float)a[place_a + ahead_of_a], ROUND);
      place_a += STEP * next_of_a;
      UNROLLED(STEP, k, MULTIPLY(k * ROWS))
    }
  }
}
