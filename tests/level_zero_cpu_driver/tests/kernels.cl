// Kernels of the driver's own tests. The compiler comes without OpenCL's header, so what is used of it
// is declared here.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

typedef unsigned int uint;
typedef unsigned long ulong;
typedef ulong size_t;
typedef short short8 __attribute__((ext_vector_type(8)));
typedef int int8 __attribute__((ext_vector_type(8)));
typedef uint uint8 __attribute__((ext_vector_type(8)));
typedef float float8 __attribute__((ext_vector_type(8)));
#define PURE __attribute__((overloadable, const))
#define CONVERGENT __attribute__((overloadable, convergent))
size_t PURE get_global_id(uint);
size_t PURE get_local_id(uint);
size_t PURE get_group_id(uint);
void CONVERGENT barrier(uint);
uint __attribute__((overloadable)) get_sub_group_local_id(void);
float CONVERGENT sub_group_broadcast(float, uint);
float CONVERGENT sub_group_reduce_add(float);
uint CONVERGENT intel_sub_group_block_read(const __global uint*);
float CONVERGENT intel_sub_group_shuffle(float, uint);
int __attribute__((overloadable)) __spirv_SpecConstant(int, int);

__kernel void add(__global const float* a, __global const float* b, __global float* c, uint n) {
  size_t i = get_global_id(0);
  if (i < n) c[i] = a[i] + b[i];
}

__kernel void sum_of_64(__global const float* in, __global float* out) {
  __local float tile[64];
  uint l = get_local_id(0);
  tile[l] = in[get_global_id(0)];
  barrier(1);
  for (uint s = 32; s > 0; s >>= 1) {
    if (l < s) tile[l] += tile[l + s];
    barrier(1);
  }
  if (l == 0) out[get_group_id(0)] = tile[0];
}

__kernel void reverse_in_local(__global const float* in, __global float* out, __local float* tile,
                               uint n) {
  uint l = get_local_id(0);
  tile[l] = in[l];
  barrier(1);
  out[l] = tile[n - 1 - l];
}

typedef struct {
  uint n;
  float scale;
  ulong offset;
} Parameters;

__kernel void by_value(__global float* out, Parameters p) {
  size_t i = get_global_id(0);
  if (i < p.n) out[i] = p.scale * i + p.offset;
}

__kernel void constants(__global int* out) {
  out[0] = __spirv_SpecConstant(7, 5);
  out[1] = __spirv_SpecConstant(8, 6);
}

__kernel void halves(__global const half* in, __global half* out) {
  size_t i = get_global_id(0);
  out[i] = (half)((float)in[i] * 2.0f);
}

__kernel __attribute__((intel_reqd_sub_group_size(16)))
__attribute__((reqd_work_group_size(32, 1, 1))) void
sub_groups(__global const uint* in, __global float* out) {
  uint first = get_group_id(0) * 32 + (get_local_id(0) & ~15u);
  float v = intel_sub_group_block_read(in + first);
  float sum = sub_group_reduce_add(v);
  float third = sub_group_broadcast(v, 3);
  float neighbour = intel_sub_group_shuffle(v, get_sub_group_local_id() ^ 1);
  out[get_global_id(0)] = sum + 1000.0f * third + 100000.0f * neighbour;
}

// DPAS: what each work-item has of A, B and the sums lies side by side.
#define MATRIX_MAD(name, lanes, ROWS, COLUMN, SUMS, built_in)                     \
  SUMS CONVERGENT built_in(ROWS a, COLUMN b, SUMS sums);                          \
  __kernel __attribute__((intel_reqd_sub_group_size(lanes)))                      \
  __attribute__((reqd_work_group_size(lanes, 1, 1))) void                         \
  name(__global const ROWS* a, __global const COLUMN* b, __global SUMS* sums) {   \
    uint i = get_local_id(0);                                                     \
    sums[i] = built_in(a[i], b[i], sums[i]);                                      \
  }
MATRIX_MAD(halves_of_16, 16, short8, int8, float8, intel_sub_group_f16_f16_matrix_mad_k16)
MATRIX_MAD(halves_of_8, 8, int8, int8, float8, intel_sub_group_f16_f16_matrix_mad_k16)
MATRIX_MAD(bytes_of_16, 16, short8, int8, int8, intel_sub_group_i8_i8_matrix_mad_k32)
MATRIX_MAD(bytes_of_8, 8, uint8, uint8, int8, intel_sub_group_u8_u8_matrix_mad_k32)

// The wrong order of these two shows in the result.
__kernel void times_two(__global int* value) { value[0] *= 2; }
__kernel void plus_one(__global int* value) { value[0] += 1; }

__kernel void write_at(__global char* out, long index) { out[index] = 1; }

__kernel void read_at(__global const char* in, __global char* out, long index) {
  out[0] = in[index];
}

__kernel void count_to(__global ulong* out, ulong n) {
  volatile ulong i = 0;
  while (i < n) i++;
  out[0] = i;
}
