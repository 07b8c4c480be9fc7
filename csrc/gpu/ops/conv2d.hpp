#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/requests.hpp"
#include "gpu/kernel_library.hpp"
#include "tilewright/types.hpp"

namespace tilewright::gpu {

/// One of conv2d's ops as the product of kernels/wgsl/implicit_gemm.wgsl, for each group of
/// channels.
struct ConvProduct {
  std::string_view op;
  KernelId kernel;
  Size rows, columns, depth;
  Size column_digits[2], depth_digits[2];  ///< sizes of the lower two digits
  bool b_along_depth;                      ///< neighbours of b lie along the depth
  Size pieces = 1, piece;                  ///< of the depth
  DType output_dtype;
  std::vector<Binding> bindings;
};

/// Pairs of the filter's taps and of a plane's places that the kernels walk.
inline double walked_pairs(const Conv2dRequest& request, Size places) {
  return static_cast<double>(places) *
         static_cast<double>(request.filter_height * request.filter_width);
}

/// Few rows make no tile: each output is then a work-item's, or with a long depth a workgroup's.
inline constexpr Size least_tile_rows = 8;
inline constexpr Size depth_step = 16;

/// BM x BN outputs of a workgroup, TM x TN of a work-item.
struct ConvTile {
  Size bm, bn, tm, tn;
};
/// For so many rows and columns, that many times.
const ConvTile& conv_tile(Size rows, Size columns, Size copies, Size units);
inline std::uint32_t place_of(const ConvTile& tile) {
  return static_cast<std::uint32_t>(tile.bm + tile.bn) / 32;
}

/// Whether conv2d_taps.wgsl takes a product of so many rows and channels that are read.
bool takes_taps(Size rows, Size deep);
/// Whether conv2d_spots.cpp does so better than sums of one output by several work-items.
bool takes_spots(const Conv2dRequest& request, bool backward, Size units);

}  // namespace tilewright::gpu
