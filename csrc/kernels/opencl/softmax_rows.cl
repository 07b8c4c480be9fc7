// softmax of rows that the registers of their work-items hold: read once, written once.
// 0 input, 1 output; one buffer where both are the same.
// GROUP / WALKERS rows a workgroup, VECTORS vectors of four a work-item. VECTOR: rows are whole
// vectors of four. LOG: logarithms of it.
//! twin: subgroups of 16 join their sums without memory on Intel's GPUs
//! T: f32 f16
//! VECTOR: 0 1
//! SUBGROUP: 0 16
//! only: SUBGROUP == 0 or VECTOR
//! IN_PLACE: 0 1
//! GROUP: 128 256
//! only: SUBGROUP == 0 or GROUP == 128
//! WALKERS: constant
//! VECTORS: constant
//! LOG: constant
#include "items.h"
#include "subgroups.h"
#include "join.h"
#include "rows.h"
#include "vectors.h"

#define plus(x, y) ((x) + (y))
JOIN_OF_WALKERS(join_tops, fmax)
JOIN_OF_WALKERS(join_sums, plus)
typedef struct { uint rows, length, zero; } Params;

OF_SUBGROUPS __attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void softmax_rows(
#if IN_PLACE
#define input output
#else
    global const ITEM* input,
#endif
    global ITEM* output, const Params params) {
  local float tops[GROUP];
  local float sums[GROUP];
  const uint item = get_local_id(0);
  const uint walker = item % WALKERS;
  const uint first = item - walker;
  const uint row = group_index() * (GROUP / WALKERS) + item / WALKERS;
  const uint row_size = params.length / WIDTH;
  const uint left = row < params.rows && walker < row_size ? row_size - walker : 0;
  const uint own = row * row_size + walker;
  float4 x[MOST_VECTORS];
  // A maximum that passes over NaN is as good: the sum does not.
  float4 highest = -INFINITY;
  FOR_VECTORS(v) {
    x[v] = share_of(input + own, v, left, -INFINITY);
    highest = fmax(highest, x[v]);
  }
  const float top = join_tops(
      tops, fmax(fmax(highest.x, highest.y), fmax(highest.z, highest.w)), first, walker);
  float4 sum = 0;
  FOR_VECTORS_IN_TURN(v) {
    const float4 off = x[v] - top, power = exp(off);
    sum += power;
    x[v] = LOG ? off : power;
  }
  const float all = join_sums(sums, across(sum), first, walker);
  const float end = LOG ? log(all) : 1 / all;
  FOR_VECTORS(v) store_share(output + own, v, left, LOG ? x[v] - end : x[v] * end);
}
