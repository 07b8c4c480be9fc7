// What DPAS multiplies with LANES work-items: 8 rows of A by 32 bytes of k, of which each work-item
// has two bytes of every row (of 16) or four (of 8); 32 bytes of k by a column of B each, four
// bytes a word; sums of 8 rows of its column. Float16 with float32 sums, or bytes with int32 sums
// that wrap. Variables: LANES; T (f16, i8, u8).
VECTOR_TYPE(short, 8);
VECTOR_TYPE(int, 8);
uint8 CONVERGENT intel_sub_group_block_read8(const global uint* from);
// The language's own overloads have vectors without a sign for bytes without.
#if T_IS_u8
#define SIGNED(type) u##type
#else
#define SIGNED(type) type
#endif
typedef SIGNED(int8) ColumnsOfB;
#if LANES == 16
typedef SIGNED(short8) RowsOfA;
ushort8 CONVERGENT intel_sub_group_block_read_us8(const global ushort* from);
#define read_rows(from) \
  __builtin_astype(intel_sub_group_block_read_us8((global const ushort*)(from)), RowsOfA)
#else
typedef SIGNED(int8) RowsOfA;
#define read_rows(from) __builtin_astype(intel_sub_group_block_read8(from), RowsOfA)
#endif
#define read_columns(from) __builtin_astype(intel_sub_group_block_read8(from), ColumnsOfB)
#if T_IS_f16
typedef float Sum;
typedef float8 Sums;
#define MULTIPLY_ADD intel_sub_group_f16_f16_matrix_mad_k16
#else
typedef int Sum;
typedef int8 Sums;
#if T_IS_i8
#define MULTIPLY_ADD intel_sub_group_i8_i8_matrix_mad_k32
#else
#define MULTIPLY_ADD intel_sub_group_u8_u8_matrix_mad_k32
#endif
#endif
Sums CONVERGENT MULTIPLY_ADD(RowsOfA a, ColumnsOfB b, Sums sums);
