// softmax along the middle axis of [outer, length, inner]: COLUMNS columns a workgroup, each walked
// by GROUP / COLUMNS work-items with a running maximum and sum, then once more for the results.
// 0 input, 1 output; one buffer where both are the same.
// COLUMNS is a power of two. ROWS: inner is 1, so neighbours lie along the axis. LOG: logarithms of
// it.
//! twin: float16 takes twice as long on a CPU where it is translated
//! T: f32 f16
//! IN_PLACE: 0 1
//! GROUP: 256
//! COLUMNS: constant
//! ROWS: constant
//! LOG: constant
#include "running_softmax.h"
#include "vectors.h"

#define WALKERS (GROUP / COLUMNS)
typedef struct { uint columns, length, inner, zero; } Params;

/// The elements i, i + WALKERS and so on of a column, -infinity past its end.
static inline float4 four_of_column(global const T* column, uint i, const Params* params) {
  float4 x = -INFINITY;
  x.x = (float)column[i * params->inner];
  if (i + WALKERS < params->length) x.y = (float)column[(i + WALKERS) * params->inner];
  if (i + 2 * WALKERS < params->length) x.z = (float)column[(i + 2 * WALKERS) * params->inner];
  if (i + 3 * WALKERS < params->length) x.w = (float)column[(i + 3 * WALKERS) * params->inner];
  return x;
}

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void softmax(
#if IN_PLACE
#define input output
#else
    global const T* input,
#endif
    global T* output, const Params params) {
  local float tops[GROUP];
  local float sums[GROUP];
  const uint item = get_local_id(0);
  const uint walker = ROWS ? item % WALKERS : item / COLUMNS;
  const uint one_walker = ROWS ? 1 : COLUMNS;
  const uint column = group_index() * COLUMNS + (ROWS ? item / WALKERS : item % COLUMNS);
  const uint length = column < params.columns ? params.length : 0;
  const uint base = (column / params.inner) * params.length * params.inner + column % params.inner;
  float top = -INFINITY;
  float sum = 0;
  for (uint i = walker; i < length; i += 4 * WALKERS) {
    const float4 x = four_of_column(input + base, i, &params);
    const float higher = larger(larger(larger(x.x, x.y), larger(x.z, x.w)), top);
    sum = sum * rescale(top, higher) + across(exp(x - reference_of(higher)));
    top = higher;
  }
  tops[item] = top;
  for (uint width = WALKERS / 2; width > 0; width /= 2) {
    local_barrier();
    if (walker < width) tops[item] = larger(tops[item], tops[item + width * one_walker]);
  }
  local_barrier();
  const float highest = tops[item - walker * one_walker];
  sums[item] = sum * rescale(top, highest);
  for (uint width = WALKERS / 2; width > 0; width /= 2) {
    local_barrier();
    if (walker < width) sums[item] += sums[item + width * one_walker];
  }
  local_barrier();
  const float all = sums[item - walker * one_walker];
  const float end = LOG ? log(all) : 1 / all;
  for (uint i = walker; i < length; i += 4 * WALKERS) {
    const float4 off = four_of_column(input + base, i, &params) - highest;
    const float4 results = LOG ? off - end : exp(off) * end;
    global T* out = output + base + i * params.inner;
    const uint apart = WALKERS * params.inner;
    out[0] = (T)results.x;
    if (i + WALKERS < length) out[apart] = (T)results.y;
    if (i + 2 * WALKERS < length) out[2 * apart] = (T)results.z;
    if (i + 3 * WALKERS < length) out[3 * apart] = (T)results.w;
  }
}
