// What the kernels of programs are made of at run time (gpu/text/spirv_program.cpp), in which each
// value of a program is one call:
//   op_OP_CLASS(a, b, c)        of each class that the rule of an op allows
//   cast_CLASS_DTYPE(x)         to a value that DTYPE holds, in its class
//   load_DTYPE(buffer, i)       the element i in its class, of bool as u32
//   store_DTYPE(buffer, i, x)
//   load_four_DTYPE, store_four_DTYPE   four elements from i on, which lie on their own size
//! library: -fwrapv
#include "program_functions.h"
#include "rounded.h"

// Ops ---------------------------------------------------------------------------------------------

#define OPERANDS_1(T) T a
#define OPERANDS_2(T) T a, T b
#define OPERANDS_3(T) T a, T b, T c
#define OF_CLASS(name, operands, class, result, spelling) \
  result op_##name##_##class(OPERANDS_##operands(class)) { return spelling; }
#define SAME(name, operands, class, spelling) OF_CLASS(name, operands, class, class, spelling)
#define TOLD(name, operands, class, spelling) OF_CLASS(name, operands, class, bool, spelling)
#define CHOSEN(name, operands, class, spelling) \
  class op_##name##_##class(bool a, class b, class c) { return spelling; }

#define OF_INTEGERS(form, name, operands, spelling)                       \
  form(name, operands, i32, spelling) form(name, operands, u32, spelling) \
      form(name, operands, i64, spelling) form(name, operands, u64, spelling)
#define OF_REALS(form, name, operands, spelling) \
  form(name, operands, f32, spelling) form(name, operands, f64, spelling)
#define OF_NUMBERS(form, name, operands, spelling) \
  OF_INTEGERS(form, name, operands, spelling)      \
  OF_REALS(form, name, operands, spelling)
#define OF_ALL(form, name, operands, spelling) \
  form(name, operands, bool, spelling) OF_NUMBERS(form, name, operands, spelling)

#define RULE_numeric(name, operands, spelling) OF_NUMBERS(SAME, name, operands, spelling)
#define RULE_real(name, operands, spelling) OF_REALS(SAME, name, operands, spelling)
#define RULE_whole(name, operands, spelling) OF_INTEGERS(SAME, name, operands, spelling)
#define RULE_bits(name, operands, spelling) \
  SAME(name, operands, bool, spelling)      \
  OF_INTEGERS(SAME, name, operands, spelling)
#define RULE_test(name, operands, spelling) OF_REALS(TOLD, name, operands, spelling)
#define RULE_compare(name, operands, spelling) OF_ALL(TOLD, name, operands, spelling)
#define RULE_order(name, operands, spelling) OF_NUMBERS(TOLD, name, operands, spelling)
#define RULE_select(name, operands, spelling) OF_ALL(CHOSEN, name, operands, spelling)

#define OP(name, operands, rule, spelling) RULE_##rule(name, operands, spelling)
#include "../../core/program/elementwise.def"
#undef OP

// Casts -------------------------------------------------------------------------------------------

/// What float32 does not hold, with a last digit of 1 for all that is left out (rounding to odd),
/// so that what rounds it again does so rightly.
FUNCTION float to_odd(double x) {
  const float near = (float)x;
  if (near == x || x != x) return near;
  const uint bits = as_uint(near);
  return as_float((fabs((double)near) > fabs(x) ? bits - 1 : bits) | 1);
}
FUNCTION float to_odd(float x) { return x; }
FUNCTION float to_odd(bool x) { return x; }
/// x, which `digits` digits less leave at most the 24 of float32.
static inline float without_digits(ulong x, uint digits) {
  const ulong unit = 1ul << digits;
  return (float)((x & ~(unit - 1)) | ((x & (unit - 1)) != 0 ? unit : 0));
}
FUNCTION float to_odd(ulong x) {
  // At least 11 are left, two more than decide how bfloat16 is rounded.
  return without_digits(x, x >> 52 != 0 ? 40 : x >> 38 != 0 ? 28 : x >> 24 != 0 ? 14 : 0);
}
FUNCTION float to_odd(uint x) { return without_digits(x, x >> 24 != 0 ? 8 : 0); }
FUNCTION float to_odd(int x) { return x < 0 ? -to_odd((uint)-x) : to_odd((uint)x); }
FUNCTION float to_odd(long x) { return x < 0 ? -to_odd((ulong)-x) : to_odd((ulong)x); }

/// Wrapped.
#define CAST_WHOLE(class)                                        \
  i32 cast_##class##_int8(class x) { return (char)x; }           \
  i32 cast_##class##_int16(class x) { return (short)x; }         \
  i32 cast_##class##_int32(class x) { return (i32)x; }           \
  i64 cast_##class##_int64(class x) { return (i64)x; }           \
  u32 cast_##class##_uint8(class x) { return (u32)x & 0xff; }    \
  u32 cast_##class##_uint16(class x) { return (u32)x & 0xffff; } \
  u32 cast_##class##_uint32(class x) { return (u32)x; }          \
  u64 cast_##class##_uint64(class x) { return (u64)x; }
/// Without the fraction, and the nearest that there is.
#define NEAREST(class, result, dtype, least, most, end)                   \
  result cast_##class##_##dtype(class x) {                                \
    return x != x ? 0 : x <= least ? least : x >= end ? most : (result)x; \
  }
#define CAST_REAL(class)                                                               \
  NEAREST(class, i32, int8, -128, 127, 0x1p7f)                                         \
  NEAREST(class, i32, int16, -32768, 32767, 0x1p15f)                                   \
  NEAREST(class, i32, int32, (-2147483647 - 1), 2147483647, 0x1p31f)                   \
  NEAREST(class, i64, int64, (-9223372036854775807 - 1), 9223372036854775807, 0x1p63f) \
  NEAREST(class, u32, uint8, 0, 255, 0x1p8f)                                           \
  NEAREST(class, u32, uint16, 0, 65535, 0x1p16f)                                       \
  NEAREST(class, u32, uint32, 0, 4294967295u, 0x1p32f)                                 \
  NEAREST(class, u64, uint64, 0, 18446744073709551615ul, 0x1p64f)
#define CAST_ANY(class)                                                   \
  bool cast_##class##_bool(class x) { return x != 0; }                    \
  f32 cast_##class##_float16(class x) { return rounded(to_odd(x), 1); }   \
  f32 cast_##class##_bfloat16(class x) { return to_bfloat16(to_odd(x)); } \
  f32 cast_##class##_float32(class x) { return (f32)x; }                  \
  f64 cast_##class##_float64(class x) { return (f64)x; }
CAST_WHOLE(bool)
CAST_WHOLE(i32)
CAST_WHOLE(u32)
CAST_WHOLE(i64)
CAST_WHOLE(u64)
CAST_REAL(f32)
CAST_REAL(f64)
CAST_ANY(bool)
CAST_ANY(i32)
CAST_ANY(u32)
CAST_ANY(i64)
CAST_ANY(u64)
CAST_ANY(f32)
CAST_ANY(f64)

// Memory ------------------------------------------------------------------------------------------

#define AT(type, buffer, stored, i) (*(global type*)((global stored*)(buffer) + (i)))
#define ELEMENTS(dtype, class, stored)                                       \
  class load_##dtype(global const uchar* buffer, ulong i) {                  \
    return (class)AT(const stored, buffer, const stored, i);                 \
  }                                                                          \
  class##x4 load_four_##dtype(global const uchar* buffer, ulong i) {         \
    return convert(AT(const stored##4, buffer, const stored, i), class##x4); \
  }                                                                          \
  void store_##dtype(global uchar* buffer, ulong i, class x) {               \
    AT(stored, buffer, stored, i) = (stored)x;                               \
  }                                                                          \
  void store_four_##dtype(global uchar* buffer, ulong i, class##x4 x) {      \
    AT(stored##4, buffer, stored, i) = convert(x, stored##4);                \
  }
ELEMENTS(bool, u32, uchar)
ELEMENTS(int8, i32, char)
ELEMENTS(int16, i32, short)
ELEMENTS(int32, i32, int)
ELEMENTS(int64, i64, long)
ELEMENTS(uint8, u32, uchar)
ELEMENTS(uint16, u32, ushort)
ELEMENTS(uint32, u32, uint)
ELEMENTS(uint64, u64, ulong)
ELEMENTS(float16, f32, half)
ELEMENTS(float32, f32, float)
ELEMENTS(float64, f64, double)

f32 load_bfloat16(global const uchar* buffer, ulong i) {
  return as_float((uint)AT(const ushort, buffer, const ushort, i) << 16);
}
f32x4 load_four_bfloat16(global const uchar* buffer, ulong i) {
  return as_float4(convert(AT(const ushort4, buffer, const ushort, i), uint4) << 16);
}
void store_bfloat16(global uchar* buffer, ulong i, f32 x) {
  AT(ushort, buffer, ushort, i) = (ushort)(as_uint(to_bfloat16(x)) >> 16);
}
void store_four_bfloat16(global uchar* buffer, ulong i, f32x4 x) {
  const float4 near =
      (float4)(to_bfloat16(x.x), to_bfloat16(x.y), to_bfloat16(x.z), to_bfloat16(x.w));
  AT(ushort4, buffer, ushort, i) = convert(as_uint4(near) >> 16, ushort4);
}

// Work-items --------------------------------------------------------------------------------------

ulong group_number(void) { return get_group_id(0) + get_group_id(1) * get_num_groups(0); }
ulong item_of_group(void) { return get_local_id(0); }
