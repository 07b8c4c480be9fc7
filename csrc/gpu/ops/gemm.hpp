#pragma once

#include <string_view>

#include "core/requests.hpp"
#include "gpu/device.hpp"

namespace tilewright::gpu {

/// Processors of an NVIDIA H200, the GPU on which the figures of the tiles were measured. The rule
/// takes every GPU for one; `tilewright tune` finds what suits another better.
inline constexpr Size gpu_processors = 132;

/// The bm x bn tile of C that a workgroup of at most 256 work-items computes, tm x tn of it a
/// work-item: each of its slices takes bk of k at a time, their sums are added at the end.
struct GemmTile {
  std::string_view name;
  Size bm, bn, bk, tm, tn, slices;
  Size resident;  ///< workgroups that a processor of the GPU runs at a time
  /// TFLOP/s of the GPU so filled: float32, float16, and where rows are no whole vec4.
  double speed, half_speed, loose_speed;

  /// How many run on the GPU at a time.
  constexpr Size fill() const { return resident * gpu_processors; }

  /// Bytes of workgroup memory with `pad` vec4 between the rows of what is kept there.
  constexpr Size memory(Size pad) const { return slices * bk * (bm + bn + 8 * pad) * 4; }
};

// clang-format off
inline constexpr GemmTile gemm_tiles[] = {
    {"32x32",     32,  32, 16, 4, 4, 1, 6, 35, 36, 32},
    {"16x128",    16, 128, 16, 8, 4, 1, 4, 36, 41, 34},
    {"32x64",     32,  64, 16, 4, 4, 1, 3, 38, 38, 36},
    {"32x128",    32, 128, 16, 8, 8, 1, 4, 47, 46, 41},
    {"128x32",   128,  32, 16, 8, 8, 1, 4, 45, 45, 39},
    {"64x64",     64,  64, 16, 8, 4, 1, 5, 45, 41, 42},
    {"64x64x2",   64,  64, 16, 8, 8, 2, 3, 49, 48, 37},
    {"64x128",    64, 128, 16, 8, 8, 1, 3, 50, 50, 45},
    {"128x128",  128, 128, 16, 8, 8, 1, 2, 47, 46, 33}};
// clang-format on

/// The rows or columns of C up to which no tile is used.
inline constexpr Size most_thin = 4;

/// Where the products of the pieces go: into C, or side by side to be joined.
struct GemmTarget {
  Binding binding;
  DType dtype;
  Size ld, stride;
  float alpha, beta;
  Size pieces, piece;
};

}  // namespace tilewright::gpu
