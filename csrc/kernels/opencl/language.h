// What OpenCL C kernels use of the language's own types and functions, which the compiler comes
// without; before every kernel.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef unsigned long size_t;
typedef half f16;
typedef float f32;

#define VECTOR_TYPE(type, width) typedef type type##width __attribute__((ext_vector_type(width)))
VECTOR_TYPE(char, 4);
VECTOR_TYPE(uchar, 4);
VECTOR_TYPE(int, 2);
VECTOR_TYPE(int, 4);
VECTOR_TYPE(uint, 2);
VECTOR_TYPE(uint, 3);
VECTOR_TYPE(uint, 4);
VECTOR_TYPE(uint, 8);
VECTOR_TYPE(ushort, 2);
VECTOR_TYPE(ushort, 4);
VECTOR_TYPE(ushort, 8);
VECTOR_TYPE(float, 2);
VECTOR_TYPE(float, 4);
VECTOR_TYPE(float, 8);
VECTOR_TYPE(half, 2);
VECTOR_TYPE(half, 4);
VECTOR_TYPE(half, 8);

#define BUILTIN __attribute__((overloadable, const))
#define CONVERGENT __attribute__((overloadable, convergent))

int BUILTIN __spirv_SpecConstant(int id, int value);

size_t BUILTIN get_local_id(uint dimension);
size_t BUILTIN get_group_id(uint dimension);
size_t BUILTIN get_num_groups(uint dimension);
void CONVERGENT barrier(uint fences);
#define CLK_LOCAL_MEM_FENCE 1
#define local_barrier() barrier(CLK_LOCAL_MEM_FENCE)

#define FOR_FLOATS(declare) declare(float) declare(float2) declare(float4)
#define UNARY(type)                \
  type BUILTIN exp(type);          \
  type BUILTIN exp2(type);         \
  type BUILTIN expm1(type);        \
  type BUILTIN log(type);          \
  type BUILTIN erf(type);          \
  type BUILTIN erfc(type);         \
  type BUILTIN sqrt(type);         \
  type BUILTIN native_rsqrt(type); \
  type BUILTIN native_recip(type); \
  type BUILTIN fabs(type);         \
  type BUILTIN floor(type);        \
  type BUILTIN rint(type);
#define BINARY(type)             \
  type BUILTIN fmax(type, type); \
  type BUILTIN fmin(type, type); \
  type BUILTIN pow(type, type);  \
  type BUILTIN copysign(type, type);
#define TERNARY(type) type BUILTIN fma(type, type, type);
FOR_FLOATS(UNARY)
FOR_FLOATS(BINARY)
FOR_FLOATS(TERNARY)
float8 BUILTIN fma(float8, float8, float8);
// A CPU runtime takes what the language's own min and max give for another in each work-item.
static inline uint BUILTIN min(uint x, uint y) { return x < y ? x : y; }
static inline uint BUILTIN max(uint x, uint y) { return x < y ? y : x; }
uint CONVERGENT sub_group_broadcast(uint x, uint lane);
float CONVERGENT sub_group_broadcast(float x, uint lane);
float CONVERGENT sub_group_reduce_add(float x);
float CONVERGENT sub_group_reduce_max(float x);

#define as_float(x) __builtin_astype((x), float)
#define as_uint(x) __builtin_astype((x), uint)
#define as_float2(x) __builtin_astype((x), float2)
#define as_half(x) __builtin_astype((x), half)
#define as_half2(x) __builtin_astype((x), half2)
#define as_char4(x) __builtin_astype((x), char4)
#define as_uchar4(x) __builtin_astype((x), uchar4)
#define as_float4(x) __builtin_astype((x), float4)
#define as_uint4(x) __builtin_astype((x), uint4)
#define as_int4(x) __builtin_astype((x), int4)
#define convert(x, type) __builtin_convertvector((x), type)

#define atomic_max(place, value) \
  __opencl_atomic_fetch_max((volatile global atomic_uint*)(place), (value), 0, 2)
#define FLT_MAX 0x1.fffffep127f
#define INFINITY __builtin_inff()
#define UNROLL _Pragma("unroll")

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
/// Four of a type: FOUR(T) is float4 or half4.
#define FOUR(type) PASTE(FOUR_, type)
#define FOUR_f32 float4
#define FOUR_f16 half4
#define TWO(type) PASTE(TWO_, type)
#define TWO_f32 float2
#define TWO_f16 half2

/// The number of a workgroup, and of a work-item, over a folded grid.
#define group_index() ((uint)(get_group_id(0) + get_group_id(1) * get_num_groups(0)))
#define item_index(group_size) (group_index() * (group_size) + (uint)get_local_id(0))

/// The statements for each i below count, 8 at most: #pragma unroll does not reach SPIR-V, and
/// arrays stay in registers only where the places in them are constants.
// clang-format off
#define UNROLLED(count, i, ...) \
  UNROLLED_AT(count, i, 0, __VA_ARGS__) \
  UNROLLED_AT(count, i, 1, __VA_ARGS__) \
  UNROLLED_AT(count, i, 2, __VA_ARGS__) \
  UNROLLED_AT(count, i, 3, __VA_ARGS__) \
  UNROLLED_AT(count, i, 4, __VA_ARGS__) \
  UNROLLED_AT(count, i, 5, __VA_ARGS__) \
  UNROLLED_AT(count, i, 6, __VA_ARGS__) \
  UNROLLED_AT(count, i, 7, __VA_ARGS__)
// clang-format on
#define UNROLLED_AT(count, i, place, ...) \
  if (place < (count)) {                  \
    enum { i = place };                   \
    __VA_ARGS__                           \
  }
