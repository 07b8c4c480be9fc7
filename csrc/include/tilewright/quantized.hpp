#pragma once

#include <cstddef>

#include "tilewright/types.hpp"

namespace tilewright {

/// Weights of a group, along a row; groups follow each other row by row in every plane.
inline constexpr Size quant_group = 32;
/// Groups behind one pair of outer scales, of formats that have them.
inline constexpr Size quant_super = 8;
/// Each plane starts on a multiple of so many bytes.
inline constexpr Size quant_plane_alignment = 256;

/// What a format has in memory: planes, one behind another, so that each is read in whole vectors.
/// A weight is scale * (q - bias) or, with minima, scale * q - or + minimum. Words are of 4 bytes,
/// the first byte lowest, and byte c of word j belongs to element 4 j + c of its group:
///
/// - low, 8 bits: q in word j. 4 bits: in word j % 4, in the lower half of the byte for j < 4. 2
///   bits: in word j / 4, from bit 2 (j % 4) of the byte on.
/// - high, 1 bit: bit j of byte c of the group's word, above the low bits. 2 bits: as 2 low bits.
/// - scales, for each group: float16 (q8_0, q4_0, q5_0); float16 scale and minimum, which is added
///   (q4_1, q5_1); bytes of scale and minimum (q4_k, q5_k); a byte for each half of the group,
///   signed (q3_k, q6_k), or of 4 bits scale and 4 bits minimum (q2_k); the exponent's byte, of
///   2^(e - 128) (mxfp4).
/// - outer, for each quant_super groups: float16 by which scales are multiplied (q3_k, q6_k), and
///   behind it that of the minima, which are subtracted (q2_k, q4_k, q5_k).
///
/// q of mxfp4 is the place in 0, 1, 2, 3, 4, 6, 8, 12 and their negatives.
struct QuantLayout {
  Size block;  ///< weights that only go together
  Size low;    ///< bits of q in the first plane
  Size high;   ///< bits in the second
  Size scale;  ///< bytes for each group
  Size outer;  ///< bytes for each quant_super groups
  int bias;
};

constexpr QuantLayout quant_layout(QuantFormat format) {
  constexpr Size all = quant_super * quant_group;
  switch (format) {
    case QuantFormat::q8_0:
      return {quant_group, 8, 0, 2, 0, 128};
    case QuantFormat::q4_0:
      return {quant_group, 4, 0, 2, 0, 8};
    case QuantFormat::q4_1:
      return {quant_group, 4, 0, 4, 0, 0};
    case QuantFormat::q5_0:
      return {quant_group, 4, 1, 2, 0, 16};
    case QuantFormat::q5_1:
      return {quant_group, 4, 1, 4, 0, 0};
    case QuantFormat::q2_k:
      return {all, 2, 0, 2, 4, 0};
    case QuantFormat::q3_k:
      return {all, 2, 1, 2, 2, 4};
    case QuantFormat::q4_k:
      return {all, 4, 0, 2, 4, 0};
    case QuantFormat::q5_k:
      return {all, 4, 1, 2, 4, 0};
    case QuantFormat::q6_k:
      return {all, 4, 2, 2, 2, 32};
    case QuantFormat::mxfp4:
      return {quant_group, 4, 0, 1, 0, 0};
  }
  return {};
}

/// Where the planes of so many groups start, in bytes; a plane that a format lacks has none.
struct QuantPlanes {
  Size low, high, scales, outer, bytes;
};

constexpr QuantPlanes quant_planes(QuantFormat format, Size groups) {
  const QuantLayout layout = quant_layout(format);
  const auto aligned = [](Size bytes) {
    return (bytes + quant_plane_alignment - 1) / quant_plane_alignment * quant_plane_alignment;
  };
  QuantPlanes at{};
  at.high = aligned(groups * layout.low * quant_group / 8);
  at.scales = at.high + aligned(groups * layout.high * quant_group / 8);
  at.outer = at.scales + aligned(groups * layout.scale);
  at.bytes = at.outer + aligned(groups / quant_super * layout.outer);
  return at;
}

/// The bytes that Backend::dequantize() and quantized_matmul() read of rows x cols weights.
constexpr Size quantized_bytes(QuantFormat format, Size rows, Size cols) {
  return quant_planes(format, rows * (cols / quant_group)).bytes;
}

}  // namespace tilewright
