#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/requests.hpp"
#include "gpu/device.hpp"
#include "gpu/ops/gemm.hpp"
#include "gpu/plan.hpp"
#include "tilewright/quantized.hpp"

namespace tilewright::gpu {

/// Bytes that so many groups, whole ones of outer scales, have in each plane; 0 where a format
/// lacks it.
constexpr std::array<Size, 4> plane_bytes(QuantFormat format, Size groups) {
  const QuantLayout layout = quant_layout(format);
  constexpr Size bits = 8;
  return {groups * layout.low * quant_group / bits, groups * layout.high * quant_group / bits,
          groups * layout.scale, groups / quant_super * layout.outer};
}

/// The planes of `count` groups from one on of packed weights that have `groups`, in the order that
/// kernels bind them; bind(range) is a binding.
std::vector<Binding> bind_planes(const BufferRange& packed, QuantFormat format, Size groups,
                                 Size first, Size count, const auto& bind) {
  const QuantPlanes at = quant_planes(format, groups);
  const std::array<Size, 4> starts{at.low, at.high, at.scales, at.outer};
  const std::array<Size, 4> before = plane_bytes(format, first), sizes = plane_bytes(format, count);
  std::vector<Binding> bindings;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) continue;
    bindings.push_back(bind(BufferRange(
        packed.allocation, packed.offset + static_cast<std::uint64_t>(starts[i] + before[i]),
        static_cast<std::uint64_t>(sizes[i]))));
  }
  return bindings;
}

/// Tiles of y on matrix units; bk is a group of weights.
// clang-format off
inline constexpr MatrixTile quantized_matrix_tiles[] = {
    {"32x64",    32,  64, quant_group, 32, 32, 6, 115},
    {"32x128",   32, 128, quant_group, 32, 32, 4, 110},
    {"64x128",   64, 128, quant_group, 64, 32, 4, 110},
    {"128x128", 128, 128, quant_group, 64, 64, 2, 230}};
// clang-format on

/// How a product with quantised weights goes over matrix units.
struct QuantizedMatrixForm {
  std::size_t tile;
  Size pieces;
};

struct QuantizedOperands {
  std::vector<Binding> planes;
  Binding x, y;
  Size ldx, ldy;
  DType sums;  ///< of y: the request's, or float32
};

/// Where sums go: y, or `pieces` matrices of float32.
struct QuantizedTarget {
  DType dtype;
  Size ld, pieces, piece;  ///< piece: groups of each
  bool adds;               ///< to what y has
};

inline void set_quantized(TemplateVariables& variables, DType dtype, QuantFormat format) {
  set_common(variables, dtype);
  variables["FORMAT"] = std::string(to_string(format));
}

}  // namespace tilewright::gpu
