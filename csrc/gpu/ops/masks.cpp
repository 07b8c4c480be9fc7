#include <algorithm>
#include <array>

#include "core/program/program_data.hpp"
#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

// What masks choose: blocks are counted, the counts scanned, and each block writes from its own on.
namespace tilewright::gpu {

namespace {

constexpr std::size_t axes_at_once = 4;

Size blocks_of(const MaskRequest& r) { return mask_counts_size(r.n) - 1; }

}  // namespace

void GpuBackend::launch_mask_counts(const MaskRequest& r) {
  const Size blocks = blocks_of(r);
  const std::uint64_t bytes = bytes_of(blocks + 1, DType::uint32);
  const bool is_one = blocks == 1;
  const AllocationRef counts = is_one ? nullptr : memory_->scratch(r.call(), bytes);
  if (blocks != 0) {
    const std::array<std::uint32_t, 2> params{u32(r.n), u32(blocks)};
    const std::array<Binding, 2> bindings{
        bind(r.call(), r.mask, bytes_of(r.n, DType::boolean)),
        is_one ? bind(r.call(), r.counts, bytes) : window(counts, 0)};
    run(KernelId::mask_counts, 0, params, bindings,
        row_grid(static_cast<std::uint64_t>(blocks), device_->limits().max_groups),
        [](TemplateVariables& v) { v["GROUP"] = std::int64_t{group_size}; });
  }
  if (is_one) return;
  FoldRequest scan;
  scan.call = r.call();
  scan.op = Reduction::sum;
  scan.scan = scan.exclusive = true;
  scan.front = scan.behind = identity_program(DType::uint32);
  scan.length = blocks + 1;
  scan.rank = 1;
  scan.operands = {
      {counts, 0},
      {r.counts.allocation, static_cast<Size>(r.counts.offset / size_of(DType::uint32))}};
  scan.sizes = {scan.length, 1, 1};
  launch_scan(scan);
}

void GpuBackend::launch_places(const MaskRequest& r, const Binding& output, bool wide) {
  Size inner = r.n;
  for (std::size_t first = 0; first < r.shape.size(); first += axes_at_once) {
    const std::size_t axes = std::min(axes_at_once, r.shape.size() - first);
    std::array<std::uint32_t, 5 + 2 * axes_at_once> params{
        u32(r.n), u32(blocks_of(r)), u32(std::min(r.count, r.n)), u32(r.count),
        static_cast<std::uint32_t>(first)};
    for (std::size_t d = 0; d < axes; ++d) {
      inner /= r.shape[first + d];
      params[5 + 2 * d] = u32(inner);
      params[6 + 2 * d] = u32(r.shape[first + d]);
    }
    const std::array<Binding, 3> bindings{
        bind(r.call(), r.mask, bytes_of(r.n, DType::boolean)),
        bind(r.call(), r.counts, bytes_of(mask_counts_size(r.n), DType::uint32)), output};
    run(KernelId::compact, static_cast<std::uint32_t>(axes) << 4 | (wide ? 1u : 0u) << 3, params,
        bindings, row_grid(static_cast<std::uint64_t>(blocks_of(r)), device_->limits().max_groups),
        [&](TemplateVariables& v) {
          v["GROUP"] = std::int64_t{group_size};
          v["WORDS"] = std::int64_t{0};
          v["AXES"] = static_cast<std::int64_t>(axes);
          v["WIDE"] = std::int64_t{wide};
        });
  }
}

void GpuBackend::launch_nonzero(const MaskRequest& r) {
  const auto bytes = bytes_of(r.count * static_cast<Size>(r.shape.size()), r.dtype);
  launch_places(r, bind(r.call(), r.output, bytes), r.dtype == DType::int64);
}

void GpuBackend::launch_compact(const MaskRequest& r) {
  const std::size_t item = size_of(r.dtype);
  if (item < 4) {
    // Blocks share words, so each word gathers what is in it.
    MaskRequest places = r;
    places.shape = {r.n};
    const AllocationRef steps = memory_->scratch(r.call(), bytes_of(r.count, DType::uint32));
    launch_places(places, window(steps, 0), false);
    MoveRequest move;
    move.name = r.call();
    move.scatter = false;
    move.item = item;
    move.n = r.count;
    move.rank = 1;
    const auto at = [&](const BufferRange& range) {
      return MapRequest::Operand{range.allocation, static_cast<Size>(range.offset / item)};
    };
    move.source = at(r.source);
    move.output = at(r.output);
    move.indices = {{{steps, 0}, DType::uint32, r.n, 1, 0}};
    move.sizes = {r.count, 0, 1, 1};
    return launch_move(move, true);
  }
  const auto words = static_cast<std::uint32_t>(item / 4);
  const std::array<std::uint32_t, 5 + 2 * axes_at_once> params{u32(r.n), u32(blocks_of(r)),
                                                               u32(r.count), u32(r.count), 0};
  const std::array<Binding, 4> bindings{
      bind(r.call(), r.mask, bytes_of(r.n, DType::boolean)),
      bind(r.call(), r.counts, bytes_of(mask_counts_size(r.n), DType::uint32)),
      bind(r.call(), r.output, bytes_of(r.count, r.dtype)),
      bind(r.call(), r.source, bytes_of(r.n, r.dtype))};
  run(KernelId::compact, words, params, bindings,
      row_grid(static_cast<std::uint64_t>(blocks_of(r)), device_->limits().max_groups),
      [&](TemplateVariables& v) {
        v["GROUP"] = std::int64_t{group_size};
        v["WORDS"] = std::int64_t{words};
        v["AXES"] = std::int64_t{0};
        v["WIDE"] = std::int64_t{0};
      });
}

}  // namespace tilewright::gpu
