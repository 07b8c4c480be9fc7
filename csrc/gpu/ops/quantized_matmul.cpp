#include "core/ops/quantized_matmul.hpp"

#include <algorithm>
#include <bit>

#include "gpu/backend.hpp"
#include "gpu/ops/quantized.hpp"

namespace tilewright::gpu {

namespace {

/// Rows of x that are multiplied while weights are read, not by tiles.
constexpr Size few = 8;
constexpr Size few_at_once = 4;
constexpr std::uint32_t by_vector_group = 128;
constexpr Size tile = 64;

/// Work-items for each block of rows, four a group: as many as fill the GPU, if each has two to do.
std::uint32_t lanes_for(Size blocks, Size groups, Size units) {
  constexpr Size enough_items = 1 << 17;
  const auto power = [](Size size) {
    return std::clamp<std::size_t>(std::bit_ceil(static_cast<std::size_t>(size)), 8,
                                   by_vector_group);
  };
  const auto enough = static_cast<std::size_t>(filling(enough_items, units));
  std::size_t lanes = power(groups / 2);
  const std::size_t most = power(groups * 2);
  while (lanes < most && static_cast<std::size_t>(blocks) * lanes < enough) lanes *= 2;
  return static_cast<std::uint32_t>(lanes);
}

}  // namespace

void GpuBackend::launch_quantized_matmul(const QuantizedMatmulRequest& r) {
  constexpr std::string_view op = "quantized_matmul";
  require(op, r.dtype);
  const Size groups = r.k / quant_group;
  std::vector<Binding> bindings =
      bind_planes(r.packed, r.format, r.n * groups,
                  [&](const BufferRange& plane) { return bind(op, plane, plane.bytes); });
  bindings.push_back(bind(op, r.x, r.x.bytes));
  bindings.push_back(bind(op, r.y, r.y.bytes));
  const std::uint32_t variant = static_cast<std::uint32_t>(r.format) * 2 + half_bit(r.dtype);
  const Size ldx = r.m == 1 ? r.k : r.ldx, ldy = r.m == 1 ? r.n : r.ldy;
  if (r.m > few || ldx % 4 != 0) {
    const Size across = (r.n + tile - 1) / tile;
    const struct {
      std::uint32_t m, n, groups, x_stride, y_stride, across, zero;
    } params{u32(r.m), u32(r.n), u32(groups), u32(ldx), u32(ldy), u32(across), 0};
    return run(KernelId::quantized_tiles, variant, params, bindings,
               cover(static_cast<std::uint64_t>((r.m + tile - 1) / tile * across), 1),
               [&](TemplateVariables& v) { set_quantized(v, r.dtype, r.format); });
  }
  const bool is_compiled = !device_->limits().compiles_templates;
  // What is compiled for Intel's GPUs takes half as many, for their registers.
  const Size vectors = r.m == 1 ? 1 : few_at_once / (is_compiled ? 2 : 1);
  const Size rows = (vectors == 1 ? 4 : 2) / (is_compiled ? 2 : 1);
  const Size blocks = (r.n + rows - 1) / rows * ((r.m + vectors - 1) / vectors);
  const std::uint32_t lanes = lanes_for(blocks, groups, device_->limits().planned_units);
  const struct {
    std::uint32_t m, n, groups, x_stride, y_stride;
  } params{u32(r.m), u32(r.n), u32(groups), u32(ldx / 4), u32(ldy)};
  run(KernelId::quantized_matmul, (variant * 2 + (vectors == 1 ? 0 : 1)) * 256 + lanes, params,
      bindings, cover(static_cast<std::uint64_t>(blocks), by_vector_group / lanes),
      [&](TemplateVariables& v) {
        set_quantized(v, r.dtype, r.format);
        v["GROUP"] = std::int64_t{by_vector_group};
        v["LANES"] = std::int64_t{lanes};
        v["VECTORS"] = std::int64_t{vectors};
        v["ROWS"] = std::int64_t{rows};
        v["TWICE"] = std::int64_t{!is_compiled};
      });
}

}  // namespace tilewright::gpu
