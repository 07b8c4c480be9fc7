#pragma once

#include <string_view>

#include "core/requests.hpp"
#include "gpu/device.hpp"

namespace tilewright::gpu {

/// The bm x bn tile of C that a workgroup of at most 256 work-items computes, tm x tn of it a
/// work-item: each of its slices takes bk of k at a time, their sums are added at the end.
struct GemmTile {
  std::string_view name;
  Size bm, bn, bk, tm, tn, slices;
  Size fill;  ///< how many run on a large GPU at a time
  /// TFLOP/s of a GPU so filled: float32, float16, and where rows are no whole vec4.
  double speed, half_speed, loose_speed;

  /// Bytes of workgroup memory with `pad` vec4 between the rows of what is kept there.
  constexpr Size memory(Size pad) const { return slices * bk * (bm + bn + 8 * pad) * 4; }
};

// clang-format off
inline constexpr GemmTile gemm_tiles[] = {
    {"32x32",     32,  32, 16, 4, 4, 1, 792, 26, 25, 21},
    {"16x128",    16, 128, 16, 8, 4, 1, 528, 30, 30, 25},
    {"32x64",     32,  64, 16, 4, 4, 1, 396, 30, 31, 29},
    {"32x128",    32, 128, 16, 8, 8, 1, 528, 45, 45, 39},
    {"128x32",   128,  32, 16, 8, 8, 1, 528, 42, 41, 38},
    {"64x64",     64,  64, 16, 8, 4, 1, 660, 42, 43, 38},
    {"64x128",    64, 128, 16, 8, 8, 1, 396, 50, 51, 45},
    {"64x128x2",  64, 128, 16, 8, 8, 2, 132, 40, 41, 37},
    {"128x128",  128, 128, 16, 8, 8, 1, 264, 45, 44, 33}};
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
