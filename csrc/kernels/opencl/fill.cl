// output[i] = value for i < n. The value comes as bits, so that a NaN survives.
// 0 output.
//! GROUP: 256
//! T: f32 f16
typedef struct { uint n, value; } Params;

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void fill(global T* output, const Params params) {
  const uint i = item_index(GROUP);
  if (i < params.n) output[i] = (T)as_float(params.value);
}
