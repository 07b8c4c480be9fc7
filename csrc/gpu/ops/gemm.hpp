#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/requests.hpp"
#include "gpu/device.hpp"

namespace tilewright::gpu {

/// The bm x bn tile of C that a workgroup of at most 256 work-items computes, tm x tn of it a
/// work-item: each of its slices takes bk of k at a time, their sums are added at the end.
struct GemmTile {
  std::string_view name;
  Size bm, bn, bk, tm, tn, slices;
  Size resident;  ///< workgroups that a processor of the GPU runs at a time
  /// TFLOP/s of the measured GPU so filled: float32, float16, and where rows are no whole vec4.
  double speed, half_speed, loose_speed;

  /// How many run at a time on a GPU of so many processors.
  constexpr Size fill(Size units) const { return resident * units; }

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

/// What the time of a product depends on.
struct GemmWork {
  Size m, n, k, batch_count;
  bool half, vectors;  ///< float16; rows of A and B are whole vec4
  Size units;          ///< processors of the GPU
};

/// Microseconds, on a GPU whose processors are those of the measured one, for the first `rows` of
/// C: whole waves of workgroups, and a last one that takes less where fewer of them share a
/// processor.
double gemm_cost(const GemmWork& work, const GemmTile& tile, Size rows, Size pieces);
/// The same by the best tile of float32 units.
double product_cost(const GemmWork& work, const DeviceLimits& limits);
/// Pieces of k that pay where the tiles of C do not fill the GPU.
Size gemm_tile_pieces(const GemmWork& work, const GemmTile& tile, Size rows);

/// A place of the workgroup memory that matrix units read: factors of a product, or sums of 32
/// bits.
struct MatrixPlace {
  Size bytes, factors;
  constexpr Size sums() const { return bytes / 4; }
};
inline constexpr MatrixPlace place_of_halves{16, 8};

/// The bm x bn tile of C that a workgroup computes on matrix units, wm x wn of it a subgroup, bk of
/// k at a time.
struct MatrixTile {
  std::string_view name;
  Size bm, bn, bk, wm, wn;
  Size resident;
  double speed;

  /// What its costs follow from.
  constexpr GemmTile costs() const {
    return {name, bm, bn, bk, 0, 0, 1, resident, speed, speed, speed};
  }
  constexpr Size subgroups() const { return bm / wm * (bn / wn); }
  /// Bytes of workgroup memory, in which sums lie as rows of `um` where the operands were. Between
  /// lines there is a place.
  constexpr Size memory(bool trans_a, bool trans_b, Size um, const MatrixPlace& place) const {
    const auto lines = [](Size count, Size places) { return count * (places + 1); };
    const Size of_a = trans_a ? lines(bk, wm / place.factors) : lines(wm, bk / place.factors);
    const Size of_b = trans_b ? lines(wn, bk / place.factors) : lines(bk, wn / place.factors);
    const Size most = std::max({of_a, of_b, lines(um, wn / place.sums())});
    const Size block = (most + (most % 8 == 0 ? 4 : 0)) * place.bytes;
    return block * std::max(bm / wm + bn / wn, subgroups());
  }
};

// clang-format off
inline constexpr MatrixTile matrix_tiles[] = {
    {"32x32",    32,  32, 32, 16, 16, 6,  80},
    {"32x128",   32, 128, 32, 32, 32, 4, 144},
    {"64x64",    64,  64, 32, 32, 32, 4, 172},
    {"128x64",  128,  64, 32, 64, 32, 3, 190},
    {"64x128",   64, 128, 32, 32, 64, 3, 194},
    {"128x128", 128, 128, 32, 64, 64, 2, 286}};
// clang-format on

// clang-format off
/// Of bytes, with the speeds of units that take 32 of k at once.
inline constexpr MatrixTile byte_tiles[] = {
    {"32x32",    32,  32, 64, 16, 16, 6, 168},
    {"32x128",   32, 128, 64, 32, 32, 4, 279},
    {"64x64",    64,  64, 64, 32, 32, 4, 329},
    {"64x128",   64, 128, 64, 32, 64, 3, 363},
    {"128x128", 128, 128, 64, 64, 64, 2, 566}};
// clang-format on

/// The units that do the most at once of a tile of float16, with float32 sums, or of int8 or uint8;
/// null where none fit.
const MatrixShape* matrix_shape(const DeviceLimits& limits, const MatrixTile& tile,
                                DType dtype = DType::float16);
/// Whether a workgroup of this device computes the tile.
bool can_run(const DeviceLimits& limits, const MatrixTile& tile, bool trans_a, bool trans_b,
             DType dtype = DType::float16);

/// How a product goes over matrix units: by one of matrix_tiles, or of byte_tiles.
struct MatrixForm {
  std::size_t tile;
  MatrixShape shape;
  Size pieces;
  double cost;
};

/// Whether rows of such an extent start and end on whole vectors.
inline bool whole_vectors(Size extent, Size ld, Size stride, Size vector = 4) {
  return extent % vector == 0 && ld % vector == 0 && stride % vector == 0;
}

inline bool vectors_of_a(const GemmRequest& r, Size vector = 4) {
  return whole_vectors(r.trans_a ? r.m : r.k, r.lda, r.stride_a, vector);
}

inline bool vectors_of_b(const GemmRequest& r, Size vector = 4) {
  return whole_vectors(r.trans_b ? r.k : r.n, r.ldb, r.stride_b, vector);
}

/// A or B as the kernels read it.
struct GemmOperand {
  Binding binding;
  Size ld, stride;
  bool vectors;      ///< rows start and end on whole vec4
  bool whole_tiles;  ///< what is beyond m and n may be read up to the end of the last tile
};

/// How a matrix is laid out anew so that its rows are whole vec4, with zeros where it grows.
struct GemmPacking {
  Size rows, columns;
  Size packed_rows, packed_columns;
  bool whole_tiles;  ///< columns lie along m or n and reach to the end of every tile

  /// With room up to where another one may begin.
  std::uint64_t bytes(const GemmRequest& r) const {
    constexpr std::uint64_t step = 256;
    const auto elements = static_cast<std::uint64_t>(packed_rows * packed_columns * r.batch_count);
    return (elements * size_of(r.dtype) + step - 1) / step * step;
  }
};

/// What of A and B is packed, side by side, for a product that goes on along k to `k`.
struct GemmPackings {
  std::optional<GemmPacking> a, b;
  Size k;

  std::uint64_t bytes(const GemmRequest& r) const {
    return (a ? a->bytes(r) : 0) + (b ? b->bytes(r) : 0);
  }
};

/// A and B in the blocks that matrix units of DPAS take (matrix_pack.wgsl), with zeros up to whole
/// tiles.
struct MatrixBlocks {
  Size rows, columns, k, batches_a, batches_b, element_bytes;

  Size words_a() const { return rows * k * element_bytes / 4; }
  Size words_b() const { return columns * k * element_bytes / 4; }
  std::uint64_t bytes() const {
    return static_cast<std::uint64_t>(words_a() * batches_a + words_b() * batches_b) * 4;
  }
};

MatrixBlocks blocks_of(const GemmRequest& r, const MatrixTile& tile);

/// How float32 matrices are laid out for matrix units: as float16, one behind the other along k.
struct GemmSplit {
  MatrixForm form;
  Size terms;           ///< 1: rounded; 3: the products of two parts each
  Size k;               ///< of one term, whole vec4 of eight
  std::uint64_t bytes;  ///< of scratch
};

/// How a product is launched: by tiles, or without one where C has few rows or columns.
struct GemmForm {
  std::optional<MatrixForm> matrix;  ///< with it the rest does not count
  std::optional<std::size_t> tile;
  Size ahead = 0;  ///< rows of C that are worked on first, by launches of their own
  Size pieces_ahead = 1, pieces = 1;  ///< that k is cut into, for those and for the other rows
  const Binding* largest = nullptr;   ///< by which matrices were scaled before they were split
};

/// What a product's sizes, types and places in memory ask for on a device.
struct GemmPlan {
  GemmForm loose;
  std::optional<GemmSplit> split;        ///< where it pays, if there is room
  std::optional<GemmPackings> packings;  ///< where it pays to pack, if there is room
  std::optional<MatrixBlocks> blocks;    ///< the same into blocks
  std::uint64_t packed_bytes = 0;
  GemmForm packed;
};

/// What `linear` makes of products before they are written.
struct GemmEnd {
  Binding bias;  ///< where there is none, something that may be bound for reading
  bool is_biased;
  Activation activation;
  float slope;
  Size gap;  ///< between the columns that belong together; 0: each stands for itself
};

/// What a binding holds from so many bytes on.
inline Binding after(const Binding& binding, std::uint64_t bytes) {
  return {binding.buffer, binding.offset + bytes, binding.bytes - bytes};
}

/// The norm of A's rows, which the kernel of few rows takes along: binding a weight, or where there
/// is none something that may be bound for reading.
struct GemmNorm {
  Binding weight;
  bool is_weighted;
  float eps;
};

/// Where the products of the pieces go: into C, or side by side to be joined.
struct GemmTarget {
  Binding binding;
  DType dtype;
  Size ld, stride;
  float alpha, beta;
  Size pieces, piece;
  const GemmEnd* end = nullptr;      ///< where the kernel of the products makes it
  const Binding* largest = nullptr;  ///< that of a GemmForm
  bool is_added = false;             ///< products of the pieces are added to C, which are integers
};

}  // namespace tilewright::gpu
