#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cpu/isa.hpp"

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

namespace tilewright::cpu {

/// What this processor has, lowered by TILEWRIGHT_CPU_ISA (baseline, avx2, avx512).
Isa usable_isa();
const char* to_string(Isa isa);

bool is_intel();

std::string processor_name();
/// Bytes of the last cache level; 0 where unknown.
std::uint64_t last_cache_bytes();
/// Bytes that a cache fetches at once; 0 where unknown.
std::uint32_t cache_line_bytes();
/// Processors this process may run on: affinity and control-group quota counted, at least 1.
std::size_t usable_processors();

inline void pause_processor() {
#if defined(__x86_64__) || defined(_M_X64)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace tilewright::cpu
