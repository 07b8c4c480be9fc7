// Normalisation of rows that the registers of their work-items hold, read once and written once:
// x * weight / sqrt(mean(x^2) + eps), or with CENTRED
// (x - mean(x)) * weight / sqrt(var(x) + eps) + bias.
// Arguments in this order: x (left out where it is the output's buffer), weight, bias (CENTRED),
// residual (RESIDUAL 1), total (RESIDUAL), output. GROUP / WALKERS rows a workgroup, VECTORS vectors
// of four a work-item. VECTOR: rows are whole vectors of four.
// RESIDUAL: x + residual is in x's place; 1: it may be written to total, which is another buffer; 2:
// total has the residual. SUM: it is written. WEIGHT, BIAS: 0 where what is given is not read.
//! twin: subgroups of 16 join their sums without memory on Intel's GPUs
//! T: f32 f16
//! VECTOR: 0 1
//! CENTRED: 0 1
//! SUBGROUP: 0 16
//! only: SUBGROUP == 0 or VECTOR
//! IN_PLACE: 0 1
//! RESIDUAL: 0 1 2
//! SUM: constant
//! WEIGHT: constant
//! BIAS: constant
//! only: IN_PLACE == 0 or RESIDUAL == 0
//! GROUP: 128 256
//! only: SUBGROUP == 0 or GROUP == 128
//! WALKERS: constant
//! VECTORS: constant
#include "items.h"
#include "subgroups.h"
#include "join.h"
#include "rows.h"
#include "vectors.h"

#define plus(x, y) ((x) + (y))
JOIN_OF_WALKERS(join, plus)
typedef struct { uint rows, cols; float eps; } Params;

OF_SUBGROUPS __attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void norm_rows(
#if IN_PLACE
#define source output
#else
    global const ITEM* source,
#endif
    global const ITEM* weight,
#if CENTRED
    global const ITEM* bias,
#endif
#if RESIDUAL == 1
    global const ITEM* residual,
#endif
#if RESIDUAL
    global ITEM* total,
#endif
    global ITEM* output, const Params params) {
  local float squares[GROUP];
  const uint item = get_local_id(0);
  const uint walker = item % WALKERS;
  const uint first = item - walker;
  const uint row = group_index() * (GROUP / WALKERS) + item / WALKERS;
  const uint row_size = params.cols / WIDTH;
  const uint left = row < params.rows && walker < row_size ? row_size - walker : 0;
  const uint own = row * row_size + walker;
  const float n = (float)params.cols;
  float4 x[MOST_VECTORS];
#if RESIDUAL
#if RESIDUAL == 2
  global const ITEM* const residual = total;
#endif
#endif
  FOR_VECTORS(v) x[v] = share_of(source + own, v, left, 0);
#if RESIDUAL
  FOR_VECTORS(v) x[v] += share_of(residual + own, v, left, 0);
  FOR_VECTORS(v) {
    if (SUM) store_share(total + own, v, left, x[v]);
    x[v] = convert(convert(x[v], FOUR(T)), float4);
  }
#endif
#if CENTRED
  local float sums[GROUP];
  local float rests[GROUP];
  float4 sum = 0;
  FOR_VECTORS(v) sum += x[v];
  const float centre = join(sums, across(sum), first, walker) / n;
  // What the centre is off by keeps the digits of rows far from zero.
  float4 rest = 0;
  FOR_VECTORS_IN_TURN(v) {
    x[v] = within(x[v] - centre, v, left);
    rest += x[v];
  }
  const float offset = join(rests, across(rest), first, walker) / n;
#endif
  float4 square = 0;
  FOR_VECTORS(v) square = fma(x[v], x[v], square);
  const float mean_square = join(squares, across(square), first, walker) / n;
#if CENTRED
  const float factor = 1 / sqrt(fmax(mean_square - offset * offset, 0.0f) + params.eps);
#else
  const float factor = 1 / sqrt(mean_square + params.eps);
#endif
  FOR_VECTORS(v) {
    const float4 of_weight = WEIGHT ? share_of(weight + walker, v, left, 0) : 1;
#if CENTRED
    const float4 of_bias = BIAS ? share_of(bias + walker, v, left, 0) : 0;
    const float4 result = fma((x[v] - offset) * factor, of_weight, of_bias);
#else
    const float4 result = x[v] * factor * of_weight;
#endif
    store_share(output + own, v, left, result);
  }
}
