// Rows that the registers of their WALKERS work-items hold, VECTORS vectors of four each; after
// items.h. `own` is where a walker's share of a row begins; from there the row has `left` ITEMs.
#define MOST_VECTORS 16
#define FOR_VECTORS(v) UNROLL for (uint v = 0; v < MOST_VECTORS; ++v) if (v < VECTORS)
/// The same, one after the other: each vector has an item of some row, but no compiler knows, and
/// Intel's would otherwise begin with all of them at once, in registers that it does not have.
#define FOR_VECTORS_IN_TURN(v) FOR_VECTORS(v) if (v * WALKERS < row_size)

/// Vector v of a walker's share; `past` where the row has ended.
static inline float4 share_of(global const ITEM* own, uint v, uint left, float past) {
#if VECTOR
  return v * WALKERS < left ? to_wide(own[v * WALKERS]) : past;
#else
  const uint at = 4 * v * WALKERS;
  float4 x = past;
  if (at < left) x.x = (float)own[at];
  if (at + WALKERS < left) x.y = (float)own[at + WALKERS];
  if (at + 2 * WALKERS < left) x.z = (float)own[at + 2 * WALKERS];
  if (at + 3 * WALKERS < left) x.w = (float)own[at + 3 * WALKERS];
  return x;
#endif
}

static inline void store_share(global ITEM* own, uint v, uint left, float4 x) {
#if VECTOR
  if (v * WALKERS < left) own[v * WALKERS] = convert(x, ITEM);
#else
  const uint at = 4 * v * WALKERS;
  if (at < left) own[at] = (T)x.x;
  if (at + WALKERS < left) own[at + WALKERS] = (T)x.y;
  if (at + 2 * WALKERS < left) own[at + 2 * WALKERS] = (T)x.z;
  if (at + 3 * WALKERS < left) own[at + 3 * WALKERS] = (T)x.w;
#endif
}

/// x where the row has not ended, else 0.
static inline float4 within(float4 x, uint v, uint left) {
#if VECTOR
  return v * WALKERS < left ? x : 0;
#else
  return WALKERS * (4 * v + (uint4)(0, 1, 2, 3)) < left ? x : 0;
#endif
}
