#pragma once

#include <string>
#include <vector>

#include "core/requests.hpp"
#include "gpu/device.hpp"
#include "gpu/ops/gemm.hpp"
#include "gpu/plan.hpp"
#include "tilewright/quantized.hpp"

namespace tilewright::gpu {

/// The planes of packed weights, in the order that kernels bind them; bind(range) is a binding.
std::vector<Binding> bind_planes(const BufferRange& packed, QuantFormat format, Size groups,
                                 const auto& bind) {
  const QuantLayout layout = quant_layout(format);
  const QuantPlanes at = quant_planes(format, groups);
  std::vector<Binding> bindings;
  const auto add = [&](Size start, Size end) {
    if (start == end) return;
    bindings.push_back(
        bind(BufferRange(packed.allocation, packed.offset + static_cast<std::uint64_t>(start),
                         static_cast<std::uint64_t>(end - start))));
  };
  add(at.low, at.high);
  if (layout.high != 0) add(at.high, at.scales);
  add(at.scales, at.outer);
  if (layout.outer != 0) add(at.outer, at.bytes);
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
