// output[i] = op(a[i], b[i]) for i < n.
// Arguments in this order, each left out where its buffer is the output's: a, b, output.
// FORM is
//   plain      both inputs walk like the output; VECTORS vectors of four a work-item, all read
//              before the first is used
//   scalar_a, scalar_b  that input is one element; as many a work-item
//   strided    RANK dimensions with strides for both inputs; one element a work-item
//! twin: OpenCL C has the functions, and the last vector is read by its elements
//! T: f32 f16
//! VECTORS: 2 4
//! only: VECTORS == (2 if T == "f32" else 4)
//! FORM: plain scalar_a scalar_b strided
//! RANK: 1 2 3 4 5 6 7 8
//! only: FORM == "strided" or RANK == 1
//! A_IS_OUTPUT: 0 1
//! only: FORM != "scalar_a" or not A_IS_OUTPUT
//! B_IS_OUTPUT: 0 1
//! only: FORM != "scalar_b" or not B_IS_OUTPUT
//! only: FORM != "strided" or not (A_IS_OUTPUT and B_IS_OUTPUT)
//! OP: constant add sub mul div max min pow
//! GROUP: constant
#if FORM_IS_strided
#define VALUE float
typedef struct { uint n, zero, shape[RANK], a_stride[RANK], b_stride[RANK]; } Params;
#else
#define VALUE float4
typedef struct { uint n, zero; } Params;
#endif
#include "binary_functions.h"
#include "vectors.h"

#if FORM_IS_scalar_a
#define a_four(i) ((float4)(float)a[0])
#define a_rest(i, left) a_four(i)
#else
#define a_four(i) load_four(a, i)
#define a_rest(i, left) load_rest(a, i, left)
#endif
#if FORM_IS_scalar_b
#define b_four(i) ((float4)(float)b[0])
#define b_rest(i, left) b_four(i)
#else
#define b_four(i) load_four(b, i)
#define b_rest(i, left) load_rest(b, i, left)
#endif

kernel void binary(
#if A_IS_OUTPUT
#define a output
#else
    global const T* a,
#endif
#if B_IS_OUTPUT
#define b output
#else
    global const T* b,
#endif
    global T* output, const Params params) {
#if FORM_IS_strided
  const uint i = item_index(GROUP);
  if (i >= params.n) return;
  uint rest = i;
  uint at_a = 0;
  uint at_b = 0;
  UNROLL for (int d = RANK - 1; d >= 0; --d) {
    const uint index = rest % params.shape[d];
    rest /= params.shape[d];
    at_a += index * params.a_stride[d];
    at_b += index * params.b_stride[d];
  }
  output[i] = (T)of_op((float)a[at_a], (float)b[at_b]);
#else
  const uint item = get_local_id(0);
  const uint first = group_index() * GROUP * VECTORS;
  const uint whole = params.n / 4;
  if (first + GROUP * VECTORS <= whole) {
    float4 x[VECTORS];
    float4 y[VECTORS];
    UNROLL for (uint v = 0; v < VECTORS; ++v) {
      x[v] = a_four(first + v * GROUP + item);
      y[v] = b_four(first + v * GROUP + item);
    }
    UNROLL for (uint v = 0; v < VECTORS; ++v) {
      store_four(output, first + v * GROUP + item, of_op(x[v], y[v]));
    }
    return;
  }
  for (uint i = first + item; i < whole; i += GROUP) {
    store_four(output, i, of_op(a_four(i), b_four(i)));
  }
  const uint left = params.n % 4;
  if (left != 0 && item == 0 && whole - first < GROUP * VECTORS) {
    store_rest(output, whole, left, of_op(a_rest(whole, left), b_rest(whole, left)));
  }
#endif
}
