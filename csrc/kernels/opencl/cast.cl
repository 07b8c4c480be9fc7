// output[i] = input[i] in another type for i < n, four elements a work-item; to nearest even.
// 0 input, 1 output.
//! twin: OpenCL C rounds to nearest, and the last vector is read by its elements
//! FROM: f32 f16 i32
//! TO: f32 f16
//! only: FROM != TO
//! GROUP: constant
#include "vectors.h"

#if FROM_IS_i32
typedef int i32;
static inline float4 __attribute__((overloadable)) load_four(global const i32* x, uint i) {
  return convert(((global const int4*)x)[i], float4);
}
static inline float4 __attribute__((overloadable)) load_rest(global const i32* x, uint i,
                                                             uint left) {
  float4 value = 0;
  value.x = (float)x[4 * i];
  if (left > 1) value.y = (float)x[4 * i + 1];
  if (left > 2) value.z = (float)x[4 * i + 2];
  return value;
}
#endif

typedef struct { uint n, zero; } Params;

kernel void cast(global const FROM* input, global TO* output, const Params params) {
  const uint i = item_index(GROUP);
  const uint whole = params.n / 4;
  const uint left = params.n % 4;
  if (i < whole) {
    store_four(output, i, load_four(input, i));
  } else if (i == whole && left != 0) {
    store_rest(output, i, left, load_rest(input, i, left));
  }
}
