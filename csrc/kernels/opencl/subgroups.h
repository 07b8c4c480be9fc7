// What kernels with variable SUBGROUP use where it is not 0; after items.h, with VECTOR.
#if SUBGROUP
#define OF_SUBGROUPS __attribute__((intel_reqd_sub_group_size(SUBGROUP)))
uint BUILTIN get_sub_group_local_id(void);
uint CONVERGENT sub_group_broadcast(uint value, uint from);
float CONVERGENT intel_sub_group_shuffle_xor(float value, uint mask);
uint2 CONVERGENT intel_sub_group_block_read2(const global uint* from);
uint4 CONVERGENT intel_sub_group_block_read4(const global uint* from);

/// The value of the subgroup's first work-item: so a compiler knows that it is one for all.
#define of_first(value) sub_group_broadcast((value), 0)

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
#else
#define OF_SUBGROUPS
#endif
