// output[i] = op(input[i]) for i < n, VECTORS vectors of four a work-item, all read before the
// first is used.
// 0 input, 1 output; one buffer where both are the same.
//! twin: OpenCL C has the functions, and the last vector is read by its elements
//! T: f32 f16
//! VECTORS: 2 4
//! only: VECTORS == (2 if T == "f32" else 4)
//! OP: relu sigmoid tanh exp log sqrt abs neg silu gelu gelu_tanh rsqrt reciprocal square
//! IN_PLACE: 0 1
//! GROUP: constant
#define VALUE float4
#include "functions.h"
#include "vectors.h"

#define OF_OP PASTE(op_, OP)
typedef struct { uint n, zero; } Params;

kernel void unary(
#if IN_PLACE
#define input output
#else
    global const T* input,
#endif
    global T* output, const Params params) {
  const uint item = get_local_id(0);
  const uint first = group_index() * GROUP * VECTORS;
  const uint whole = params.n / 4;
  if (first + GROUP * VECTORS <= whole) {
    float4 x[VECTORS];
    UNROLL for (uint v = 0; v < VECTORS; ++v) x[v] = load_four(input, first + v * GROUP + item);
    UNROLL for (uint v = 0; v < VECTORS; ++v) {
      store_four(output, first + v * GROUP + item, OF_OP(x[v]));
    }
    return;
  }
  for (uint i = first + item; i < whole; i += GROUP) {
    store_four(output, i, OF_OP(load_four(input, i)));
  }
  const uint left = params.n % 4;
  if (left != 0 && item == 0 && whole - first < GROUP * VECTORS) {
    store_rest(output, whole, left, OF_OP(load_rest(input, whole, left)));
  }
}
