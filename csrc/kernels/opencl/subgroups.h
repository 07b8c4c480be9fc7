// What kernels with variables T and SUBGROUP use where the latter is not 0; with VECTOR, after
// items.h.
#if SUBGROUP
#define OF_SUBGROUPS __attribute__((intel_reqd_sub_group_size(SUBGROUP)))
uint BUILTIN get_sub_group_local_id(void);
uint CONVERGENT sub_group_broadcast(uint value, uint from);
float CONVERGENT intel_sub_group_shuffle_xor(float value, uint mask);
ushort CONVERGENT intel_sub_group_block_read_us(const global ushort* from);
uint CONVERGENT intel_sub_group_block_read(const global uint* from);
uint2 CONVERGENT intel_sub_group_block_read2(const global uint* from);
uint4 CONVERGENT intel_sub_group_block_read4(const global uint* from);

/// The value of the subgroup's first work-item: so a compiler knows that it is one for all.
#define of_first(value) sub_group_broadcast((value), 0)

/// SUBGROUP elements from one place on, one for each work-item, and the same of the SUBGROUP after
/// them. The place is a multiple of 4 bytes.
#if T_IS_f32
static inline float load_one_each(global const T* from) {
  return as_float(intel_sub_group_block_read((global const uint*)from));
}
static inline float2 load_two_each(global const T* from) {
  return __builtin_astype(intel_sub_group_block_read2((global const uint*)from), float2);
}
#else
static inline float load_one_each(global const T* from) {
  return __builtin_astype(intel_sub_group_block_read_us((global const ushort*)from), half);
}
static inline float2 load_two_each(global const T* from) {
  return (float2)(load_one_each(from), load_one_each(from + SUBGROUP));
}
#endif

#ifdef ITEM
// SUBGROUP items from one place on, four elements for each work-item: which ones, T decides.
#if T_IS_f32
static inline float4 load_block(global const ITEM* from) {
  return as_float4(intel_sub_group_block_read4((global const uint*)from));
}
#else
static inline float4 load_block(global const ITEM* from) {
  const uint2 pairs = intel_sub_group_block_read2((global const uint*)from);
  return convert(__builtin_astype(pairs, half4), float4);
}
#endif
#endif
#else
#define OF_SUBGROUPS
#endif
