#pragma once

#include <string_view>

#include "core/requests.hpp"
#include "gpu/device.hpp"

namespace tilewright::gpu {

/// The bm x bn tile of C that a workgroup computes, k in steps of bk, tm x tn of it a work-item.
/// Each fits in 16 KiB of workgroup memory and needs at most 256 work-items.
struct GemmTile {
  std::string_view name;
  Size bm, bn, bk, tm, tn;
  Size fill;  ///< how many fill a large GPU
  /// TFLOP/s of a GPU so filled: float32, float16, and where rows are no whole vec4.
  double speed, half_speed, loose_speed;
};

// clang-format off
inline constexpr GemmTile gemm_tiles[] = {
    {"32x32",        32,  32, 16,  4, 4, 528, 24, 23, 20},
    {"16x128",       16, 128, 16,  8, 4, 528, 30, 28, 22},
    {"32x64",        32,  64, 16,  4, 4, 264, 28, 26, 23},
    {"32x128",       32, 128, 16,  8, 8, 528, 42, 38, 34},
    {"128x32",      128,  32, 16,  8, 8, 528, 40, 37, 33},
    {"64x64",        64,  64, 16,  8, 4, 264, 35, 33, 30},
    {"64x128",       64, 128, 16,  8, 8, 264, 41, 39, 40},
    {"128x128",     128, 128, 16,  8, 8, 132, 45, 42, 36},
    {"128x128deep", 128, 128, 16, 16, 8, 264, 44, 46, 32}};
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
