#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/requests.hpp"
#include "gpu/device.hpp"
#include "gpu/kernel_library.hpp"
#include "gpu/ops/gemm.hpp"
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

/// How much longer than the measured GPU one of so many processors takes.
inline double slower(Size units) {
  return static_cast<double>(measured_units) / static_cast<double>(units);
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

/// Of conv2d_forward's candidates: kernels without transforms come first, tiles of matrix units
/// last.
inline constexpr std::size_t winograd_choice = 1, first_matrix_choice = 2;

/// Whether conv2d_taps.wgsl takes a product of so many rows and channels that are read.
bool takes_taps(Size rows, Size deep);
/// Whether conv2d_spots.cpp does so better than sums of one output by several work-items.
bool takes_spots(const Conv2dRequest& request, bool backward, Size units);

/// A convolution of float16 as conv2d_matrix.wgsl computes it, for each group of channels: `rows`
/// planes are written, of `deep` that are read.
struct MatrixConv {
  Size rows, columns, deep, taps;
  Size folded;   ///< taps in a row of the filter that are laid out as channels of the first of them
  Size vectors;  ///< of eight, that the channels of a tap fill
  Pair source, result;  ///< height and width
  Pair stride, pad;     ///< of what is laid out; in front of it, less than 0 where it starts later
  Pair step;            ///< from one row or column of the source that is laid out to the next
  Pair packed;          ///< height and width of what is laid out
  bool packs_source, packs_filter;
  Size pieces, piece;  ///< of the depth, and the depth of one

  /// Where the source is not laid out, it has no more than its channels.
  Size depth() const { return packs_source ? taps * vectors * 8 : deep; }
  std::uint64_t source_bytes(const Conv2dRequest& r) const {
    return packs_source ? bytes(r.batch * r.groups * packed[0] * packed[1] * vectors) : 0;
  }
  std::uint64_t filter_bytes(const Conv2dRequest& r) const {
    return packs_filter ? bytes(r.groups * rows * taps * vectors) : 0;
  }

 private:
  static std::uint64_t bytes(Size of_vectors) {
    return static_cast<std::uint64_t>(of_vectors) * 16;
  }
};
/// Pieces of the depth that pay with a tile, of sums that can be joined afterwards.
Size pieces_of(const MatrixConv& conv, const MatrixTile& tile, const Conv2dRequest& request,
               Size units);
/// Nothing where matrix units do not take it, or not in so many bytes of scratch memory.
std::optional<MatrixConv> matrix_conv(const Conv2dRequest& request, const DeviceLimits& limits,
                                      std::uint64_t room);

}  // namespace tilewright::gpu
