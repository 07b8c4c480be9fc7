// Rotates the pairs (i, i + half) of rows of head_dim = 2 half elements by the angles of a table
// row, one pair a work-item.
// Arguments in this order: x (left out where it is the output's buffer), cos, sin, output.
//! T: f32 f16
//! IN_PLACE: 0 1
//! GROUP: 256
typedef struct { uint pairs, half_dim, seq, position; } Params;

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void rope(
#if IN_PLACE
#define x output
#else
    global const T* x,
#endif
    global const T* cosines, global const T* sines, global T* output, const Params params) {
  const uint item = item_index(GROUP);
  if (item >= params.pairs) return;
  const uint i = item % params.half_dim;
  const uint row = item / params.half_dim;
  const uint angle = (params.position + row % params.seq) * params.half_dim + i;
  const uint first = row * params.half_dim * 2 + i;
  const uint second = first + params.half_dim;
  const float a = (float)x[first];
  const float b = (float)x[second];
  const float c = (float)cosines[angle];
  const float s = (float)sines[angle];
  output[first] = (T)(a * c - b * s);
  output[second] = (T)(b * c + a * s);
}
