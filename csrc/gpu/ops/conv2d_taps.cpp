#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "gpu/backend.hpp"
#include "gpu/ops/conv2d.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

namespace {

Size count(Size size, Size tile) { return (size + tile - 1) / tile; }

}  // namespace

bool takes_taps(Size rows, Size deep) {
  return rows >= least_tile_rows && deep % depth_step == 0 && deep > 0;
}

bool GpuBackend::conv_taps(std::string_view op, const Conv2dRequest& r, bool backward) {
  const Size channels = r.channels / r.groups;
  const Size filters = r.filters / r.groups;
  const Size rows = backward ? channels : filters;
  const Size deep = backward ? filters : channels;
  const Size taps = r.filter_height * r.filter_width;
  const Size input_plane = r.height * r.width;
  const Size output_plane = r.out_height * r.out_width;
  const Size result_plane = backward ? input_plane : output_plane;
  const Size columns = r.batch * result_plane;
  const ConvTile& tile = conv_tile(rows, columns, r.groups, device_->limits().planned_units);

  const Size padded_rows = count(rows, tile.bm) * tile.bm;
  const Size lines = r.groups * taps * deep;
  const std::uint64_t packed_bytes = bytes_of(lines * padded_rows, r.dtype);
  const AllocationRef scratch = memory_->try_scratch(op, packed_bytes);
  if (!scratch) return false;
  const Binding packed = bind(op, scratch, packed_bytes);
  const Binding filter = bind(op, r.filter, bytes_of(r.filters * channels * taps, r.dtype));
  const Binding input = bind(op, r.input, bytes_of(r.batch * r.channels * input_plane, r.dtype));
  const Binding output = bind(op, r.output, bytes_of(r.batch * r.filters * output_plane, r.dtype));
  const struct {
    std::uint32_t lines, rows, padded_rows, deep, taps, group_stride, row_stride, deep_stride;
  } pack{u32(lines),
         u32(rows),
         u32(padded_rows),
         u32(deep),
         u32(taps),
         u32(filters * channels * taps),
         u32(backward ? taps : channels * taps),
         u32(backward ? channels * taps : taps)};
  const std::array<Binding, 2> pack_bindings{filter, packed};
  run(KernelId::conv2d_pack, half_bit(r.dtype), pack, pack_bindings,
      cover(static_cast<std::uint64_t>(lines), 1),
      [&](TemplateVariables& v) { set_common(v, r.dtype); });

  std::vector<Binding> bindings{backward ? output : input, packed, backward ? input : output};
  const bool bias = !backward && r.bias != nullptr;
  if (bias) bindings.push_back(bind(op, r.bias, bytes_of(r.filters, r.dtype)));
  const bool vector = result_plane % 4 == 0;
  const Size step_bytes = (tile.bm + tile.bn) * depth_step * static_cast<Size>(sizeof(float));
  const Size buffers = 2 * step_bytes <= device_->limits().local_memory_bytes ? 2 : 1;
  std::uint32_t variant = place_of(tile);
  for (bool bit : {backward, bias, vector, r.dtype == DType::float16}) {
    variant = variant * 2 + (bit ? 1 : 0);
  }
  variant = variant * 16 + static_cast<std::uint32_t>(r.activation);
  const auto fill = [&](TemplateVariables& v) {
    v = {{"BM", tile.bm},
         {"BN", tile.bn},
         {"BK", depth_step},
         {"TM", tile.tm},
         {"TN", tile.tn},
         {"BUFFERS", buffers},
         {"BACKWARD", std::int64_t{backward}},
         {"BIAS", std::int64_t{bias}},
         {"VECTOR", std::int64_t{vector}},
         {"T", type_name(r.dtype)},
         {"ACTIVATION", std::string(to_string(r.activation))}};
  };
  const Size tiles_n = count(columns, tile.bn);
  const Size tile_count = count(rows, tile.bm) * tiles_n;
  struct {
    std::uint32_t m, n, deep, groups, tiles, tiles_n, first, filter_height, filter_width,
        source_height, source_width, result_height, result_width, stride_h, stride_w, pad_h, pad_w,
        dilation_h, dilation_w;
    float slope;
    std::uint32_t zero;
  } params{u32(rows),
           u32(columns),
           u32(deep),
           u32(r.groups),
           u32(tile_count),
           u32(tiles_n),
           0,
           u32(r.filter_height),
           u32(r.filter_width),
           u32(backward ? r.out_height : r.height),
           u32(backward ? r.out_width : r.width),
           u32(backward ? r.height : r.out_height),
           u32(backward ? r.width : r.out_width),
           u32(r.stride[0]),
           u32(r.stride[1]),
           u32(r.pad[0]),
           u32(r.pad[1]),
           u32(r.dilation[0]),
           u32(r.dilation[1]),
           r.slope,
           0};
  auto grid = cover(static_cast<std::uint64_t>(tile_count), 1);
  const Size most = device_->limits().max_groups;
  for (Size first = 0; first < r.groups; first += most) {
    params.first = u32(first);
    grid[2] = u32(std::min(most, r.groups - first));
    run(KernelId::conv2d_taps, variant, params, bindings, grid, fill);
  }
  return true;
}

}  // namespace tilewright::gpu
