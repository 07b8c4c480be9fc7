// output[i] = input[i] in another type for i < n, four elements a work-item; to nearest even.
// 0 input, 1 output.
//! FROM: f32 f16
//! TO: f32 f16
//! only: FROM != TO
//! GROUP: constant
#include "vectors.h"

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
