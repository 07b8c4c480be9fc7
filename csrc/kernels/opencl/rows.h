// Rows that the registers of their WALKERS work-items hold, VECTORS vectors of four each; after
// items.h. A row has `count` ITEMs.
#define MOST_VECTORS 16
#define FOR_VECTORS(v) UNROLL for (uint v = 0; v < MOST_VECTORS; ++v) if (v < VECTORS)

/// Vector v of a walker's share of a row; `past` where the row has ended.
static inline float4 share_of(global const ITEM* row, uint walker, uint v, uint count, float past) {
#if VECTOR
  const uint at = walker + v * WALKERS;
  return at < count ? to_wide(row[at]) : past;
#else
  const uint at = walker + 4 * v * WALKERS;
  float4 x = past;
  if (at < count) x.x = (float)row[at];
  if (at + WALKERS < count) x.y = (float)row[at + WALKERS];
  if (at + 2 * WALKERS < count) x.z = (float)row[at + 2 * WALKERS];
  if (at + 3 * WALKERS < count) x.w = (float)row[at + 3 * WALKERS];
  return x;
#endif
}

static inline void store_share(global ITEM* row, uint walker, uint v, uint count, float4 x) {
#if VECTOR
  const uint at = walker + v * WALKERS;
  if (at < count) row[at] = convert(x, ITEM);
#else
  const uint at = walker + 4 * v * WALKERS;
  if (at < count) row[at] = (T)x.x;
  if (at + WALKERS < count) row[at + WALKERS] = (T)x.y;
  if (at + 2 * WALKERS < count) row[at + 2 * WALKERS] = (T)x.z;
  if (at + 3 * WALKERS < count) row[at + 3 * WALKERS] = (T)x.w;
#endif
}

/// x where the row has not ended, else 0.
static inline float4 within(float4 x, uint walker, uint v, uint count) {
#if VECTOR
  return walker + v * WALKERS < count ? x : 0;
#else
  const uint4 at = walker + WALKERS * (4 * v + (uint4)(0, 1, 2, 3));
  return at < count ? x : 0;
#endif
}
