#include "core/ops/concat.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "core/program/program_data.hpp"
#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

// Parts move as words where all of them are whole words, by the bytes of an element.
namespace tilewright::gpu {

namespace {

/// How many parts the kernels take; fewer are filled up.
constexpr std::array<std::size_t, 4> counts{2, 4, 7, 15};
constexpr Size most_items = Size{1} << 31;

/// Elements as items, of which a word has `of_word`.
struct Items {
  Size of_word;
  Size times, by;  ///< items of an element: times / by

  Size of(Size elements) const { return elements * times / by; }
};

Items items_of(const ConcatRequest& r) {
  const auto item = static_cast<Size>(size_of(r.dtype));
  if (item >= 4) return {1, item / 4, 1};
  const auto is_whole = [&](Size elements) { return elements * item % 4 == 0; };
  const bool are_words = is_whole(r.length) && is_whole(r.output.offset) &&
                         std::ranges::all_of(r.parts, [&](const ConcatPart& part) {
                           return is_whole(part.length) && is_whole(part.operand.offset);
                         });
  return are_words ? Items{1, 1, 4 / item} : Items{4 / item, 1, 1};
}

/// One part as map() copies it, to `at` in each row of the output.
MapRequest as_map(const ConcatRequest& r, const ConcatPart& part, Size at) {
  const std::size_t item = size_of(r.dtype);
  const Size words = item > 4 ? 2 : 1, own = part.length * words, row = r.length * words;
  MapRequest one;
  one.program = identity_program(item == 1   ? DType::uint8
                                 : item == 2 ? DType::uint16
                                             : DType::uint32);
  one.n = r.rows * own;
  one.operands = {{part.operand.allocation, part.operand.offset * words},
                  {r.output.allocation, (r.output.offset + at) * words}};
  one.same_as = {MapRequest::no_output};
  if (r.rows == 1 || own == row) {
    one.sizes = {one.n, 1, 1};
  } else if (own == 1) {
    one.sizes = {one.n, 1, row};
  } else {
    one.sizes = {r.rows, own, own, 1, row, 1};
  }
  one.rank = one.sizes.size() / 3;
  return one;
}

}  // namespace

void GpuBackend::run_op(OpId id, std::string_view op, const ConcatRequest& r,
                        void (GpuBackend::*launch)(const ConcatRequest&)) {
  std::array<OperandPlace, LaunchPlan::most_bindings> room;
  const std::size_t count = r.parts.size() + 1;
  if (count > room.size()) return (this->*launch)(r);
  const std::size_t item = size_of(r.dtype);
  const std::uint64_t alignment = place_alignment();
  PlanKey key(static_cast<std::uint64_t>(id));
  key.add(item);
  key.add(r.rows);
  for (std::size_t i = 0; i < r.parts.size(); ++i) {
    key.add(r.parts[i].length);
    room[i] = add_place(key, r.parts[i].operand, item, alignment);
  }
  room[count - 1] = add_place(key, r.output, item, alignment);
  const std::span<const OperandPlace> places = std::span(room).first(count);
  key.add(places);
  run_planned(op, key, places, {}, {}, [&] { (this->*launch)(r); });
}

void GpuBackend::launch_concat(const ConcatRequest& r) {
  const Items items = items_of(r);
  const std::size_t most = std::min<std::size_t>(device_->limits().max_bindings - 1, counts.back());
  const std::uint64_t window = window_bytes() - place_alignment();
  const bool fits =
      bytes_of(r.rows * r.length, r.dtype) <= window && items.of(r.rows * r.length) <= most_items;
  const bool is_shared = std::ranges::any_of(r.parts, [&](const ConcatPart& part) {
    return part.operand.allocation == r.output.allocation;
  });
  // Words that two launches write a part of would be written by two work-items of each.
  const bool is_cut = items.of_word > 1 && r.parts.size() > most;
  Size at = 0;
  if (!fits || is_shared || is_cut) {
    for (const ConcatPart& part : r.parts) {
      launch_map(as_map(r, part, at));
      at += part.length;
    }
    return;
  }
  for (std::span parts(r.parts); !parts.empty();) {
    const auto some = parts.first(std::min(most, parts.size()));
    launch_parts(r, some, at);
    for (const ConcatPart& part : some) at += part.length;
    parts = parts.subspan(some.size());
  }
}

void GpuBackend::launch_parts(const ConcatRequest& r, std::span<const ConcatPart> parts, Size at) {
  const Items items = items_of(r);
  const std::uint64_t alignment = place_alignment();
  std::array<Binding, counts.back() + 1> bindings;
  std::array<std::uint32_t, 4 + 3 * counts.back()> params;
  // Binds an operand, and gives the place of its first element there.
  const auto bound = [&](std::size_t place, const MapRequest::Operand& operand, Size elements) {
    const std::uint64_t start = bytes_of(operand.offset + elements, r.dtype);
    const std::uint64_t first = start / alignment * alignment;
    DeviceBuffer& buffer = buffer_of(operand.allocation);
    bindings[place] = {&buffer, first, std::min(buffer.bytes() - first, window_bytes())};
    return items.of(static_cast<Size>((start - first) / size_of(r.dtype)));
  };
  const std::size_t count = *std::ranges::lower_bound(counts, parts.size());
  Size row = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const ConcatPart& part = parts[std::min(i, parts.size() - 1)];
    const Size start = bound(i, part.operand, 0), own = items.of(part.length);
    params[4 + 3 * i] = u32(i < parts.size() ? row + own : 0);
    params[5 + 3 * i] = u32(start - row);
    params[6 + 3 * i] = u32(own);
    if (i < parts.size()) row += own;
  }
  const Size start = bound(count, r.output, at), n = r.rows * row;
  params[0] = u32(n);
  params[1] = u32(row);
  params[2] = u32(items.of(r.length));
  params[3] = u32(start);
  const Size last = (start + n - 1) / items.of_word;
  const auto work =
      static_cast<std::uint64_t>(items.of_word == 1 ? n : last - start / items.of_word + 1);
  const auto bytes = static_cast<std::uint32_t>(4 / items.of_word);
  const Pipeline& pipeline = kernel(KernelId::concat, static_cast<std::uint32_t>(count) * 8 + bytes,
                                    [&](TemplateVariables& v) {
                                      v["GROUP"] = std::int64_t{group_size};
                                      v["PARTS"] = static_cast<std::int64_t>(count);
                                      v["BYTES"] = std::int64_t{bytes};
                                    });
  device_->launch({&pipeline, std::span(bindings).first(count + 1),
                   std::as_bytes(std::span(params).first(4 + 3 * count)), cover(work, group_size)});
}

}  // namespace tilewright::gpu
