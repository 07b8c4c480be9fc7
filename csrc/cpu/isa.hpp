#pragma once

#include <cstdint>

namespace tilewright::cpu {

/// Instruction sets, each with all before it: what the kernels are compiled for.
enum class Isa : std::uint8_t { baseline, avx2, avx512 };

}  // namespace tilewright::cpu
