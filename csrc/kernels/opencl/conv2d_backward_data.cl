// The gradient of conv2d's input as a product: rows are channels, columns input positions (image,
// y, x), deep are filter taps (filter, r, s).
// 0 grad_output, 1 filter, 2 grad_input.
// Variables: those of implicit_gemm.h; T.
//! twin: Intel's compiler spills up to 8 KiB of a hardware thread where it is translated
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
//! B_DEEP: 0
//! T: f32 f16
//! ignored: TO BIAS
typedef struct {
  global const T *grad_output, *filter;
  global T* grad_input;
} Operands;

#include "implicit_gemm.h"

static inline float load_a(Operands x, Params params, uint group, uint row, uint3 deep) {
  const uint plane = (group * params.filters + deep.x) * params.channels + row;
  return x.filter[(plane * params.filter_height + deep.y) * params.filter_width + deep.z];
}
/// The gradient at the output position that sees the pixel through this tap; 0 where none does.
static inline float load_b(Operands operands, Params params, uint group, uint3 deep, uint3 col) {
  // Before the first position is a large number here, which no size reaches.
  const uint y = col.y + params.pad_h - deep.y * params.dilation_h;
  const uint x = col.z + params.pad_w - deep.z * params.dilation_w;
  const uint p = y / params.stride_h;
  const uint q = x / params.stride_w;
  if (p >= params.out_height || q >= params.out_width) return 0;
  if (y != p * params.stride_h || x != q * params.stride_w) return 0;
  const uint plane = col.x * (params.groups * params.filters) + group * params.filters + deep.x;
  return operands.grad_output[(plane * params.out_height + p) * params.out_width + q];
}
static inline uint row_place(Params params, uint group, uint piece, uint row) {
  (void)piece;
  return (group * params.channels + row) * (params.height * params.width);
}
static inline uint column_place(Params params, uint group, uint col) {
  (void)group;
  const uint plane = params.height * params.width;
  return col / plane * (params.groups * params.channels) * plane + col % plane;
}
static inline void store(Operands x, Params params, uint group, uint row, uint place, float value) {
  (void)params, (void)group, (void)row;
  x.grad_input[place] = (T)value;
}

__attribute__((reqd_work_group_size(GROUP_X, GROUP_Y, 1)))
kernel void conv2d_backward_data(global const T* grad_output, global const T* filter,
                                 global T* grad_input, const Params params) {
  local float shared[SHARED_FLOATS];
  const Operands operands = {grad_output, filter, grad_input};
  implicit_gemm(operands, params, shared);
}
