#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <string>
#include <vector>

#include "gpu/backend.hpp"
#include "gpu/ops/conv2d.hpp"
#include "gpu/plan.hpp"

// Convolutions of float16 on matrix units, and the gradients of their inputs where these are
// convolutions by turned filters.
namespace tilewright::gpu {

namespace {

/// What the kernels read at once: eight channels.
constexpr Size lanes = 8;
/// Vectors along the depth at most, each of which has its line in a table.
constexpr Size most_vectors = 1 << 16;

/// Vectors of a place that conv2d_matrix_input.wgsl turns around at once.
constexpr Size widest_block = 8;

Size count(Size size, Size of) { return (size + of - 1) / of; }

/// Where the vectors along the depth lie from where a position starts, up to a whole step.
std::vector<std::uint32_t> places_of(const Conv2dRequest& r, const MatrixConv& conv, Size step) {
  const Size vectors = conv.taps * conv.vectors;
  std::vector<std::uint32_t> places(static_cast<std::size_t>(count(vectors, step) * step));
  for (Size i = 0; i < vectors; ++i) {
    const Size tap = i / conv.vectors;
    const Size wide = r.filter_width / conv.folded;
    const Size down = tap / wide * r.dilation[0], right = tap % wide * r.dilation[1];
    places[static_cast<std::size_t>(i)] =
        u32((down * conv.packed[1] + right) * conv.vectors + i % conv.vectors);
  }
  return places;
}

}  // namespace

std::optional<MatrixConv> matrix_conv(const Conv2dRequest& r, const DeviceLimits& limits,
                                      std::uint64_t room) {
  const Pair one{1, 1}, none{0, 0};
  const bool backward = r.op == ConvOp::backward_data;
  const Size filters = r.filters / r.groups, channels = r.channels / r.groups;
  if (limits.matrix_lanes == 0 || r.dtype != DType::float16 || filters == 0 || channels == 0 ||
      r.batch == 0 || (backward && r.stride != one)) {
    return std::nullopt;
  }
  MatrixConv conv{};
  conv.rows = backward ? channels : filters;
  conv.deep = backward ? filters : channels;
  // Few channels fill vectors together with the taps beside them.
  const Size apart = r.filter_width * count(conv.deep, lanes);
  const Size together = count(conv.deep * r.filter_width, lanes);
  conv.folded = 4 * together <= 3 * apart ? r.filter_width : 1;
  conv.vectors = conv.folded > 1 ? together : count(conv.deep, lanes);
  conv.taps = r.filter_height * r.filter_width / conv.folded;
  const Pair window{r.filter_height, r.filter_width};
  conv.source = backward ? Pair{r.out_height, r.out_width} : Pair{r.height, r.width};
  conv.result = backward ? Pair{r.height, r.width} : Pair{r.out_height, r.out_width};
  conv.columns = r.batch * conv.result[0] * conv.result[1];
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const Size reach = r.dilation[axis] * (window[axis] - 1);
    const bool single = window[axis] == (axis == 0 ? 1 : conv.folded);
    conv.pad[axis] = backward ? reach - r.pad[axis] : r.pad[axis];
    // Of a stride no place between is laid out where no tap reads it.
    conv.step[axis] = single ? r.stride[axis] : 1;
    conv.stride[axis] = r.stride[axis] / conv.step[axis];
    conv.packed[axis] = (conv.result[axis] - 1) * conv.stride[axis] + (single ? 1 : reach + 1);
  }
  const Size plane = conv.source[0] * conv.source[1];
  conv.packs_source = window != one || r.stride != one || conv.pad != none || plane % lanes != 0;
  conv.packs_filter = window != one || backward || conv.deep % lanes != 0;
  const std::uint64_t most = std::min({limits.max_binding_bytes, limits.max_buffer_bytes, room});
  if (conv.columns == 0 || conv.taps * conv.vectors > most_vectors ||
      conv.source_bytes(r) + conv.filter_bytes(r) > most) {
    return std::nullopt;
  }
  return conv;
}

void GpuBackend::pack_conv_source(const Conv2dRequest& r, const MatrixConv& conv,
                                  std::span<const Binding> bindings) {
  const Size wide = static_cast<Size>(
      std::bit_ceil(static_cast<std::size_t>(std::min<Size>(conv.vectors, widest_block))));
  const Size slices = r.batch * r.groups, places = conv.packed[0] * conv.packed[1];
  const struct {
    std::uint32_t slices, channels, height, width, vectors, places, packed_width, step_h, step_w,
        pad_h, pad_w, dilation_w, folded;
  } params{u32(slices),       u32(conv.deep),   u32(conv.source[0]), u32(conv.source[1]),
           u32(conv.vectors), u32(places),      u32(conv.packed[1]), u32(conv.step[0]),
           u32(conv.step[1]), u32(conv.pad[0]), u32(conv.pad[1]),    u32(r.dilation[1]),
           u32(conv.folded)};
  const Size blocks = count(conv.vectors, wide) * count(places, group_size / wide) * slices;
  const bool folds = conv.folded > 1;
  run(KernelId::conv2d_matrix_input, u32(wide * 2) + (folds ? 1 : 0), params, bindings,
      cover(static_cast<std::uint64_t>(blocks), 1), [&](TemplateVariables& v) {
        v["GROUP"] = std::int64_t{group_size};
        v["WIDE"] = std::int64_t{wide};
        v["FOLDS"] = std::int64_t{folds};
      });
}

void GpuBackend::pack_conv_filter(const Conv2dRequest& r, const MatrixConv& conv,
                                  std::span<const Binding> bindings) {
  const bool backward = r.op == ConvOp::backward_data;
  const Size channels = r.channels / r.groups, filters = r.filters / r.groups;
  const Size window = conv.taps * conv.folded;
  const struct {
    std::uint32_t items, rows, taps, vectors, deep, folded, group_stride, row_stride, deep_stride,
        turned;
  } params{u32(r.groups * conv.rows * conv.taps * conv.vectors),
           u32(conv.rows),
           u32(conv.taps),
           u32(conv.vectors),
           u32(conv.deep),
           u32(conv.folded),
           u32(filters * channels * window),
           u32(backward ? window : channels * window),
           u32(backward ? channels * window : window),
           backward ? 1u : 0u};
  run(KernelId::conv2d_matrix_filter, 0, params, bindings,
      cover(std::uint64_t{params.items}, group_size),
      [](TemplateVariables& v) { v["GROUP"] = std::int64_t{group_size}; });
}

bool GpuBackend::conv_matrix(std::string_view op, const Conv2dRequest& r, std::size_t tile) {
  const std::optional<MatrixConv> found = matrix_conv(r, device_->limits(), scratch_limit());
  if (!found) return false;
  MatrixConv conv = *found;
  AllocationRef packed_source, packed_filter;
  if (conv.packs_source) packed_source = memory_->try_scratch(op, conv.source_bytes(r));
  if (conv.packs_filter) packed_filter = memory_->try_scratch(op, conv.filter_bytes(r));
  if ((conv.packs_source && !packed_source) || (conv.packs_filter && !packed_filter)) return false;

  const bool backward = r.op == ConvOp::backward_data;
  const Binding filter =
      bind(op, r.filter,
           bytes_of(r.filters * (r.channels / r.groups) * conv.taps * conv.folded, r.dtype));
  const Binding input =
      bind(op, r.input, bytes_of(r.batch * r.channels * r.height * r.width, r.dtype));
  const Binding output =
      bind(op, r.output, bytes_of(r.batch * r.filters * r.out_height * r.out_width, r.dtype));
  std::vector<Binding> bindings{filter, backward ? output : input, backward ? input : output};
  if (conv.packs_filter) {
    bindings[0] = bind(op, packed_filter, conv.filter_bytes(r));
    pack_conv_filter(r, conv, std::array{filter, bindings[0]});
  }
  AllocationRef table;
  if (conv.packs_source) {
    const Binding source = bindings[1];
    bindings[1] = bind(op, packed_source, conv.source_bytes(r));
    pack_conv_source(r, conv, std::array{source, bindings[1]});
    const std::vector<std::uint32_t> places = places_of(r, conv, matrix_tiles[tile].bk / lanes);
    const auto bytes = std::as_bytes(std::span(places));
    table = memory_->written_once(op, bytes.size());
    memory_->with_room([&] { device_->upload(buffer_of(table), 0, bytes); });
    bindings.push_back(bind(op, table, bytes.size()));
  }
  if (!backward && r.bias) bindings.push_back(bind(op, r.bias, bytes_of(r.filters, r.dtype)));
  const Size elements = r.groups * conv.rows * conv.columns, bk = matrix_tiles[tile].bk;
  const std::uint64_t sums_bytes = bytes_of(elements, DType::float32);
  const auto cut = [&](Size pieces) {
    conv.piece = count(count(conv.depth(), pieces), bk) * bk;
    conv.pieces = count(conv.depth(), conv.piece);
  };
  const Size units = device_->limits().planned_units;
  cut(affordable(pieces_of(conv, matrix_tiles[tile], r, units), sums_bytes));
  AllocationRef sums;
  if (conv.pieces > 1) {
    const std::uint64_t bytes = sums_bytes * static_cast<std::uint64_t>(conv.pieces);
    if (bytes <= device_->limits().max_binding_bytes) sums = memory_->try_scratch(op, bytes);
    if (sums) bindings[2] = bind(op, sums, bytes);
  }
  if (!sums) cut(1);
  multiply_conv(r, conv, tile, bindings);
  if (conv.pieces > 1) {
    const BufferRange& result = backward ? r.input : r.output;
    reduce(op, ReduceOp::sum, sums, DType::float32, result, r.dtype, {1, conv.pieces, elements});
  }
  return true;
}

void GpuBackend::multiply_conv(const Conv2dRequest& r, const MatrixConv& conv, std::size_t index,
                               std::span<const Binding> bindings) {
  const MatrixTile& tile = matrix_tiles[index];
  const MatrixShape& shape = *matrix_shape(device_->limits(), tile);
  const Size plane = conv.result[0] * conv.result[1];
  const bool forward = r.op == ConvOp::forward;
  const bool bias = forward && r.bias != nullptr, vector_c = plane % 4 == 0;
  const Activation activation = forward ? r.activation : Activation::none;
  std::uint32_t variant = u32(static_cast<Size>(index));
  for (const bool bit : {conv.packs_source, bias, vector_c, conv.pieces > 1})
    variant = variant * 2 + (bit ? 1 : 0);
  variant = variant * 16 + static_cast<std::uint32_t>(activation);
  const auto fill = [&](TemplateVariables& v) {
    v = {{"BM", tile.bm},
         {"BN", tile.bn},
         {"BK", tile.bk},
         {"WM", tile.wm},
         {"WN", tile.wn},
         {"UM", std::int64_t{shape.m}},
         {"UN", std::int64_t{shape.n}},
         {"UK", std::int64_t{shape.k}},
         {"LANES", std::int64_t{device_->limits().matrix_lanes}},
         {"TA", std::int64_t{0}},
         {"TB", std::int64_t{conv.packs_source}},
         {"PACKED", std::int64_t{conv.packs_source}},
         {"BIAS", std::int64_t{bias}},
         {"VECTOR_C", std::int64_t{vector_c}},
         {"T", type_name(r.dtype)},
         {"TO", type_name(conv.pieces > 1 ? DType::float32 : r.dtype)},
         {"ACTIVATION", std::string(to_string(activation))}};
  };
  const Size tiles_m = count(conv.rows, tile.bm), tiles_n = count(conv.columns, tile.bn);
  const Size slice = conv.packs_source ? conv.packed[0] * conv.packed[1] * conv.vectors
                                       : conv.deep * plane / lanes;
  struct {
    std::uint32_t m, n, depth, plane, width, groups, pieces, piece, first, tiles_m, tiles_n, image,
        group, row, column;
    float slope;
    std::uint32_t zero;
  } params{u32(conv.rows),
           u32(conv.columns),
           u32(conv.depth()),
           u32(plane),
           u32(conv.result[1]),
           u32(r.groups),
           u32(conv.pieces),
           u32(conv.piece),
           0,
           u32(tiles_m),
           u32(tiles_n),
           u32(r.groups * slice),
           u32(slice),
           u32(conv.packs_source ? conv.stride[0] * conv.packed[1] * conv.vectors : plane / lanes),
           u32(conv.stride[1] * conv.vectors),
           r.slope,
           0};
  const auto tiles = cover(static_cast<std::uint64_t>(tiles_m * tiles_n), 1);
  const Size most = device_->limits().max_groups;
  const Size products = r.groups * conv.pieces;
  for (Size first = 0; first < products; first += most) {
    params.first = u32(first);
    run(KernelId::conv2d_matrix, variant, params, bindings,
        {tiles[0], u32(std::min(most, products - first)), tiles[1]}, fill);
  }
}

}  // namespace tilewright::gpu
