// What kernels that are translated from WGSL use of OpenCL C (cmake/wgsl_to_opencl), after
// language.h.

VECTOR_TYPE(int, 3);
VECTOR_TYPE(float, 3);
VECTOR_TYPE(half, 3);
VECTOR_TYPE(short, 2);
VECTOR_TYPE(short, 3);
VECTOR_TYPE(short, 4);
#define WIDE_TYPES(type) \
  VECTOR_TYPE(type, 2);  \
  VECTOR_TYPE(type, 3);  \
  VECTOR_TYPE(type, 4);
WIDE_TYPES(long)
WIDE_TYPES(ulong)
WIDE_TYPES(double)

size_t BUILTIN get_global_id(uint dimension);
#define CLK_GLOBAL_MEM_FENCE 2

// The places of a work-item; x, y and z are the size of its workgroup.
#define OF_DIMENSIONS(get) ((uint3)((uint)get(0), (uint)get(1), (uint)get(2)))
#define WORKGROUP_ID OF_DIMENSIONS(get_group_id)
#define NUM_WORKGROUPS OF_DIMENSIONS(get_num_groups)
#define LOCAL_INVOCATION_ID OF_DIMENSIONS(get_local_id)
#define GLOBAL_INVOCATION_ID OF_DIMENSIONS(get_global_id)
#define LOCAL_INVOCATION_INDEX(x, y, z)                                             \
  ((uint)get_local_id(0) + ((y) > 1 || (z) > 1 ? (uint)get_local_id(1) * (x) : 0) + \
   ((z) > 1 ? (uint)get_local_id(2) * ((x) * (y)) : 0))

#define wgsl_bitcast(x, type) __builtin_astype((x), type)

// Functions of the language that language.h leaves out, on f32 and vectors of it.
#define MORE_UNARY(type)    \
  type BUILTIN log2(type);  \
  type BUILTIN ceil(type);  \
  type BUILTIN trunc(type); \
  type BUILTIN sin(type);   \
  type BUILTIN cos(type);   \
  type BUILTIN tan(type);   \
  type BUILTIN asin(type);  \
  type BUILTIN acos(type);  \
  type BUILTIN atan(type);  \
  type BUILTIN sinh(type);  \
  type BUILTIN cosh(type);  \
  type BUILTIN tanh(type);  \
  type BUILTIN asinh(type); \
  type BUILTIN acosh(type); \
  type BUILTIN atanh(type);
#define MORE_BINARY(type)         \
  type BUILTIN atan2(type, type); \
  type BUILTIN fmod(type, type);
FOR_FLOATS(MORE_UNARY)
FOR_FLOATS(MORE_BINARY)
UNARY(float3)
BINARY(float3)
TERNARY(float3)
MORE_UNARY(float3)
MORE_BINARY(float3)
#define OF_DOUBLES(declare) declare(double) declare(double2) declare(double3) declare(double4)
OF_DOUBLES(UNARY)
OF_DOUBLES(BINARY)
OF_DOUBLES(TERNARY)
OF_DOUBLES(MORE_UNARY)
OF_DOUBLES(MORE_BINARY)

#define INLINE static inline __attribute__((overloadable))
#define FOR_VECTORS_OF(form, type) form(type##2) form(type##3) form(type##4)
#define FOR_WIDTHS(form, type) form(type) FOR_VECTORS_OF(form, type)

// A float out of range becomes the last one in range that is a whole number; NaN some number.
#define TO_INTEGERS(width)                                                    \
  INLINE int##width wgsl_to_i32(float##width x) {                             \
    return convert(fmin(fmax(x, -2147483648.0f), 2147483520.0f), int##width); \
  }                                                                           \
  INLINE uint##width wgsl_to_u32(float##width x) {                            \
    return convert(fmin(fmax(x, 0.0f), 4294967040.0f), uint##width);          \
  }
INLINE int wgsl_to_i32(float x) { return (int)fmin(fmax(x, -2147483648.0f), 2147483520.0f); }
INLINE uint wgsl_to_u32(float x) { return (uint)fmin(fmax(x, 0.0f), 4294967040.0f); }
TO_INTEGERS(2)
TO_INTEGERS(3)
TO_INTEGERS(4)

#define WGSL_FLOATS(type)                                                                  \
  INLINE type wgsl_clamp(type x, type low, type high) { return fmin(fmax(x, low), high); } \
  INLINE type wgsl_inverse_sqrt(type x) { return 1.0f / sqrt(x); }                         \
  INLINE type wgsl_fract(type x) { return x - floor(x); }                                  \
  INLINE type wgsl_mix(type x, type y, type part) { return x * (1.0f - part) + y * part; } \
  INLINE type wgsl_step(type edge, type x) { return edge <= x ? (type)1.0f : (type)0.0f; } \
  INLINE type wgsl_sign(type x) {                                                          \
    return x > 0.0f ? (type)1.0f : (x < 0.0f ? -(type)1.0f : (type)0.0f);                  \
  }
FOR_WIDTHS(WGSL_FLOATS, float)

#define WGSL_INTEGERS(type)                                      \
  INLINE type wgsl_min(type x, type y) { return x < y ? x : y; } \
  INLINE type wgsl_max(type x, type y) { return x < y ? y : x; } \
  INLINE type wgsl_clamp(type x, type low, type high) { return wgsl_min(wgsl_max(x, low), high); }
#define WGSL_BITS(type)                                           \
  type BUILTIN popcount(type);                                    \
  type BUILTIN clz(type);                                         \
  type BUILTIN ctz(type);                                         \
  INLINE type wgsl_count_one_bits(type x) { return popcount(x); } \
  INLINE type wgsl_count_leading_zeros(type x) { return clz(x); } \
  INLINE type wgsl_count_trailing_zeros(type x) {                 \
    /* Of ones below the lowest one. */                           \
    return popcount(~x & (x - 1));                                \
  }
#define WGSL_SIGNED(type)                                 \
  INLINE type wgsl_abs(type x) { return x < 0 ? -x : x; } \
  INLINE type wgsl_sign(type x) { return x > 0 ? (type)1 : (x < 0 ? -(type)1 : (type)0); }
#define WGSL_UNSIGNED(type) \
  INLINE type wgsl_abs(type x) { return x; }
FOR_WIDTHS(WGSL_INTEGERS, int)
FOR_WIDTHS(WGSL_INTEGERS, uint)
FOR_WIDTHS(WGSL_INTEGERS, long)
FOR_WIDTHS(WGSL_INTEGERS, ulong)
FOR_WIDTHS(WGSL_BITS, int)
FOR_WIDTHS(WGSL_BITS, uint)
FOR_WIDTHS(WGSL_SIGNED, int)
FOR_WIDTHS(WGSL_SIGNED, long)
FOR_WIDTHS(WGSL_UNSIGNED, uint)
FOR_WIDTHS(WGSL_UNSIGNED, ulong)

#define WGSL_DOT(type)                                                                     \
  INLINE type wgsl_dot(type##2 x, type##2 y) { return x.x * y.x + x.y * y.y; }             \
  INLINE type wgsl_dot(type##3 x, type##3 y) { return x.x * y.x + x.y * y.y + x.z * y.z; } \
  INLINE type wgsl_dot(type##4 x, type##4 y) {                                             \
    return x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;                                  \
  }
WGSL_DOT(float)
WGSL_DOT(int)
WGSL_DOT(uint)

INLINE int wgsl_dot4_int8(uint x, uint y) {
  return wgsl_dot(convert(as_char4(x), int4), convert(as_char4(y), int4));
}
INLINE uint wgsl_dot4_uint8(uint x, uint y) {
  return wgsl_dot(convert(as_uchar4(x), uint4), convert(as_uchar4(y), uint4));
}

// Truths of vectors are all ones or 0.
INLINE bool wgsl_any(int2 x) { return (x.x | x.y) != 0; }
INLINE bool wgsl_any(int3 x) { return (x.x | x.y | x.z) != 0; }
INLINE bool wgsl_any(int4 x) { return (x.x | x.y | x.z | x.w) != 0; }
INLINE bool wgsl_all(int2 x) { return (x.x & x.y) != 0; }
INLINE bool wgsl_all(int3 x) { return (x.x & x.y & x.z) != 0; }
INLINE bool wgsl_all(int4 x) { return (x.x & x.y & x.z & x.w) != 0; }

INLINE uint wgsl_pack2x16float(float2 x) { return as_uint(convert(x, half2)); }
INLINE float2 wgsl_unpack2x16float(uint x) { return convert(as_half2(x), float2); }

// Relaxed, as WGSL's are; among a workgroup's work-items or the device's.
#define SCOPE_OF_local 1
#define SCOPE_OF_global 2
#define ATOMIC_PLACE(space, type, place) ((volatile space atomic_##type*)(place))
#define wgsl_atomic(change, space, type, place, value) \
  __opencl_atomic_##change(ATOMIC_PLACE(space, type, place), (value), 0, SCOPE_OF_##space)
#define wgsl_atomic_load(space, type, place) \
  __opencl_atomic_load(ATOMIC_PLACE(space, type, place), 0, SCOPE_OF_##space)
#define wgsl_atomic_store(space, type, place, value) \
  __opencl_atomic_store(ATOMIC_PLACE(space, type, place), (value), 0, SCOPE_OF_##space)
#define WGSL_EXCHANGE(space, type)                                                            \
  INLINE bool wgsl_exchange_##space##_##type(volatile space void* place, type before,         \
                                             type after) {                                    \
    return __opencl_atomic_compare_exchange_strong(ATOMIC_PLACE(space, type, place), &before, \
                                                   after, 0, 0, SCOPE_OF_##space);            \
  }
WGSL_EXCHANGE(local, int)
WGSL_EXCHANGE(local, uint)
WGSL_EXCHANGE(global, int)
WGSL_EXCHANGE(global, uint)
