// The gradient of conv2d's filter as a product: rows are filters, columns filter taps (channel, r,
// s), deep are output positions (image, p, q), cut into pieces that are summed afterwards.
// 0 input, 1 grad_output, 2 grad_filter, once for each piece.
// Variables: those of implicit_gemm.h; T, TO (of grad_filter).
//! twin: it shares `implicit_gemm.h` with `conv2d_forward`
//! DIRECT: 0 1
//! BM: 32 64 128
//! BN: 64 128
//! BK: 16
//! TM: 4 8
//! TN: 4 8
//! only: (BM, BN, TM, TN) in [(32, 64, 4, 4), (64, 64, 4, 4), (64, 128, 8, 4), (128, 128, 8, 8)]
//! only: DIRECT == 0 or BM == 32
//! LANES: constant
//! GROUP: 256
//! B_DEEP: 1
//! T: f32 f16
//! TO: f32 f16
//! only: T == "f16" or TO == "f32"
//! ignored: BIAS
typedef struct {
  global const T *input, *grad_output;
  global TO* grad_filter;
} Operands;

#include "implicit_gemm.h"
#include "conv2d_input.h"

static inline float load_a(Operands x, Params params, uint group, uint row, uint3 deep) {
  const uint plane = deep.x * (params.groups * params.filters) + group * params.filters + row;
  return x.grad_output[(plane * params.out_height + deep.y) * params.out_width + deep.z];
}
static inline float load_b(Operands x, Params params, uint group, uint3 deep, uint3 col) {
  return input_at(x.input, params, deep.x, group * params.channels + col.x, deep.yz, col.yz);
}
static inline uint row_place(Params params, uint group, uint piece, uint row) {
  return ((piece * params.groups + group) * params.filters + row) * params.n;
}
static inline uint column_place(Params params, uint group, uint col) {
  (void)params, (void)group;
  return col;
}
static inline void store(Operands x, Params params, uint group, uint row, uint place, float value) {
  (void)params, (void)group, (void)row;
  x.grad_filter[place] = (TO)value;
}

__attribute__((reqd_work_group_size(GROUP_X, GROUP_Y, 1)))
kernel void conv2d_backward_filter(global const T* input, global const T* grad_output,
                                   global TO* grad_filter, const Params params) {
  local float shared[SHARED_FLOATS];
  const Operands operands = {input, grad_output, grad_filter};
  implicit_gemm(operands, params, shared);
}
