// Cross-correlation as a product: rows are filters, columns output positions (image, p, q), deep
// are filter taps (channel, r, s).
// 0 input, 1 filter, 2 output, 3 bias where BIAS.
// Variables: those of implicit_gemm.h; T, BIAS, ACTIVATION.
//! twin: Intel's compiler spills up to 16 KiB of a hardware thread where it is translated
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
//! BIAS: 0 1
//! ACTIVATION: constant none relu relu6 leaky_relu hardswish sigmoid tanh silu gelu gelu_tanh
//! T: f32 f16
//! ignored: TO
typedef struct {
  global const T *input, *filter;
  global T* output;
  global const T* bias;
} Operands;

#include "implicit_gemm.h"
#include "conv2d_input.h"
#include "activation.h"

static inline float load_a(Operands x, Params params, uint group, uint row, uint3 deep) {
  const uint tap = (deep.x * params.filter_height + deep.y) * params.filter_width + deep.z;
  return x.filter[(group * params.filters + row) * params.k + tap];
}
static inline float load_b(Operands x, Params params, uint group, uint3 deep, uint3 col) {
  return input_at(x.input, params, col.x, group * params.channels + deep.x, col.yz, deep.yz);
}
static inline uint row_place(Params params, uint group, uint piece, uint row) {
  (void)piece;
  return (group * params.filters + row) * (params.out_height * params.out_width);
}
static inline uint column_place(Params params, uint group, uint col) {
  (void)group;
  const uint plane = params.out_height * params.out_width;
  return col / plane * (params.groups * params.filters) * plane + col % plane;
}
static inline void store(Operands x, Params params, uint group, uint row, uint place, float value) {
  const float sum = BIAS ? value + x.bias[group * params.filters + row] : value;
  x.output[place] = (T)activated(sum, params.slope);
}

__attribute__((reqd_work_group_size(GROUP_X, GROUP_Y, 1)))
#if BIAS
kernel void conv2d_forward(global const T* input, global const T* filter, global T* output,
                           global const T* bias, const Params params) {
#else
kernel void conv2d_forward(global const T* input, global const T* filter, global T* output,
                           const Params params) {
  global const T* const bias = 0;
#endif
  local float shared[SHARED_FLOATS];
  const Operands operands = {input, filter, output, bias};
  implicit_gemm(operands, params, shared);
}
