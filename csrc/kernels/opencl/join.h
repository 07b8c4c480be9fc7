// JOIN_OF_WALKERS(name, joined) defines name(held, value, first, walker): it joins, by a function
// of two floats, the value that each of the WALKERS work-items of a result has, and gives it to all
// of them. `first` is the local index of walker 0, `held` a local array with a place for each
// work-item of the workgroup, all of which come here. An array serves once, since nothing waits for
// its readers. After subgroups.h where there is SUBGROUP.
#if SUBGROUP
#define JOIN_OF_WALKERS(name, joined)                                                 \
  static inline float name(local float* held, float value, uint first, uint walker) { \
    for (uint step = 1; step < SUBGROUP && step < WALKERS; step *= 2) {               \
      value = joined(value, intel_sub_group_shuffle_xor(value, step));                \
    }                                                                                 \
    if (WALKERS > SUBGROUP) {                                                         \
      if (walker % SUBGROUP == 0) held[(first + walker) / SUBGROUP] = value;          \
      local_barrier();                                                                \
      value = held[first / SUBGROUP];                                                 \
      for (uint w = 1; w < WALKERS / SUBGROUP; ++w) {                                 \
        value = joined(value, held[first / SUBGROUP + w]);                            \
      }                                                                               \
    }                                                                                 \
    return value;                                                                     \
  }
#else
#define JOIN_OF_WALKERS(name, joined)                                                 \
  static inline float name(local float* held, float value, uint first, uint walker) { \
    held[first + walker] = value;                                                     \
    local_barrier();                                                                  \
    const uint parts = WALKERS > 16 ? WALKERS / 16 : WALKERS;                         \
    if (WALKERS > 16) {                                                               \
      if (walker < parts) {                                                           \
        float result = held[first + walker];                                          \
        UNROLL for (uint w = 1; w < 16; ++w) {                                        \
          result = joined(result, held[first + walker + w * parts]);                  \
        }                                                                             \
        held[first + walker] = result;                                                \
      }                                                                               \
      local_barrier();                                                                \
    }                                                                                 \
    float result = held[first];                                                       \
    for (uint w = 1; w < parts; ++w) result = joined(result, held[first + w]);        \
    return result;                                                                    \
  }
#endif
