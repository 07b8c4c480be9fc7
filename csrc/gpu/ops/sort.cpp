#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "core/program/program_data.hpp"
#include "core/sort_keys.hpp"
#include "core/text.hpp"
#include "gpu/backend.hpp"
#include "gpu/plan.hpp"
#include "tilewright/error.hpp"

// Sorts: short rows in workgroup memory, long ones by digits of their keys. Kernels see elements as
// one word or two.
namespace tilewright::gpu {

/// Rows of elements of whole words, and what is wanted of them.
struct SortRows {
  std::string_view call;
  SortKeys keys;
  Size rows, length, kept;
  BufferRange source;
  BufferRange places;           ///< uint32, of the elements; where they are in the row if none
  BufferRange values, indices;  ///< the outputs, either of which may be none
  bool wide_indices;            ///< of two words

  bool wide() const { return keys.bits == 64; }
  std::uint64_t bytes() const { return wide() ? 8 : 4; }
  /// What one workgroup sorts at most.
  Size most_in_group() const { return wide() ? 1024 : 2048; }
};

namespace {

constexpr Size digit_values = 256;
constexpr int digit_bits = 8;
/// Beside a row in its binding.
constexpr std::uint64_t most_before = 1024;

std::uint32_t high_word(std::uint64_t bits) { return static_cast<std::uint32_t>(bits >> 32); }

/// SortKeys as kernels have them, with the place of the digit that they look at.
struct KeyParams {
  std::uint32_t shift, sign, infinity, all, flip;
};
KeyParams key_params(const SortKeys& keys, int shift) {
  const auto word = [&](std::uint64_t bits) {
    return keys.bits == 64 ? high_word(bits) : static_cast<std::uint32_t>(bits);
  };
  return {static_cast<std::uint32_t>(shift), word(keys.sign), word(keys.infinity), word(keys.all),
          word(keys.flip)};
}

/// Rows cut into blocks, one a workgroup, of `most` elements at most.
struct Blocks {
  Size tile, of_row, all;

  Blocks(Size rows, Size length, Size most = 16384) {
    constexpr Size enough_groups = 2048, least = 1024;
    const Size wanted = rows * length / enough_groups;
    tile = std::clamp(static_cast<Size>(std::bit_ceil(static_cast<std::uint64_t>(wanted))), least,
                      most);
    of_row = (length + tile - 1) / tile;
    all = rows * of_row;
  }
};

/// What rows of a part are bound from: where a binding may start, and the first element in it.
struct Placed {
  Binding binding;
  std::uint32_t start;
};
Placed placed(const BufferRange& range, std::uint64_t element, const DeviceLimits& limits) {
  DeviceBuffer& buffer = buffer_of(range);
  const std::uint64_t begin = range.offset / limits.binding_alignment * limits.binding_alignment;
  return {{&buffer, begin, std::min(buffer.bytes() - begin, limits.max_binding_bytes)},
          static_cast<std::uint32_t>((range.offset - begin) / element)};
}

/// The blocks of a sort by digits. With places they are shorter, so that a workgroup orders all of
/// its block at once; pairs of long elements and places are too much for that.
Blocks digit_blocks(const SortRows& s, const DeviceLimits& limits) {
  const bool is_long = s.wide() == static_cast<bool>(s.indices);
  if (uniform_lanes(limits) == 0) return {s.rows, s.length};
  return {s.rows, s.length, is_long ? 8192 : 4096};
}

/// A workgroup of sort_scatter.
struct ScatterGroup {
  std::uint32_t lanes;  ///< that vote on digits; 0 where they do not
  Size items = group_size;
  Size rounds;  ///< elements that a work-item has at once, in the workgroup's memory

  ScatterGroup(const SortRows& s, Size tile, const DeviceLimits& limits)
      : lanes(uniform_lanes(limits)) {
    const bool pairs = s.wide() && s.indices;
    rounds = limits.compiles_templates ? (s.wide() ? 8 : 16) : 4;  // of which there are modules
    // The more work-items order elements together, the longer the runs that they write.
    const Size twice = 2 * group_size, fewer = pairs ? rounds : rounds / 2;
    if (lanes != 0 && twice * fewer <= tile && twice <= Size{limits.max_group_size} &&
        room(s, twice, fewer) <= Size{limits.local_memory_bytes}) {
      items = twice;
      rounds = fewer;
    }
    while (rounds > 1 && rounds * items > tile) rounds /= 2;
  }

 private:
  /// Bytes of a workgroup's memory.
  Size room(const SortRows& s, Size of_items, Size of_rounds) const {
    constexpr Size counts_of_part = 512, digits = 2052;
    return digits + std::max(of_items * of_rounds * static_cast<Size>(s.bytes()),
                             of_items / Size{lanes} * counts_of_part);
  }
};

/// The operands of a launch that moves rows.
struct MoveOperands {
  std::vector<Binding> bindings;
  std::uint32_t start = 0, values_start = 0, indices_start = 0;
  std::uint32_t variant = 0;
  bool from = false, values = false;
  int index_words = 0;

  MoveOperands(const SortRows& s, const DeviceLimits& limits, const Binding* before) {
    const Placed source = placed(s.source, s.bytes(), limits);
    start = source.start;
    bindings.push_back(source.binding);
    if (before != nullptr) bindings.push_back(*before);
    if (s.places && s.indices) {
      from = true;
      bindings.push_back(placed(s.places, 4, limits).binding);
    }
    if (s.values) {
      const Placed to = placed(s.values, s.bytes(), limits);
      values = true;
      values_start = to.start;
      bindings.push_back(to.binding);
    }
    if (s.indices) {
      index_words = s.wide_indices ? 2 : 1;
      const Placed to = placed(s.indices, s.wide_indices ? 8 : 4, limits);
      indices_start = to.start;
      bindings.push_back(to.binding);
    }
    variant = static_cast<std::uint32_t>(((s.wide() ? 1 : 0) * 2 + (from ? 1 : 0)) * 6 +
                                         (values ? 3 : 0) + index_words);
  }
  void fill(const SortRows& s, TemplateVariables& v) const {
    v["GROUP"] = std::int64_t{group_size};
    v["WORDS"] = std::int64_t{s.wide() ? 2 : 1};
    v["FROM"] = std::int64_t{from};
    v["VALUES"] = std::int64_t{values};
    v["INDICES"] = std::int64_t{index_words};
  }
};

/// Raw bits from one width to another.
MapRequest raw_cast(const BufferRange& from, DType from_dtype, const BufferRange& to,
                    DType to_dtype, Size n) {
  MapRequest map;
  map.program = cast_output(identity_program(from_dtype), to_dtype);
  map.n = n;
  map.rank = 1;
  const auto operand = [](const BufferRange& range, DType dtype) {
    return MapRequest::Operand{range.allocation, static_cast<Size>(range.offset / size_of(dtype))};
  };
  map.operands = {operand(from, from_dtype), operand(to, to_dtype)};
  map.sizes = {n, 1, 1};
  map.same_as = {MapRequest::no_output};
  return map;
}

}  // namespace

void GpuBackend::launch_sort(const SortRequest& r) {
  const std::uint64_t word_bytes = std::max<std::uint64_t>(size_of(r.dtype), 4);
  const std::uint64_t most = device_->limits().max_binding_bytes - most_before;
  if (static_cast<std::uint64_t>(r.length) > most / word_bytes) {
    throw Unsupported(text(r.op, ": rows of ", r.length, " elements, in ", word_bytes,
                           " bytes each, but one binding of ", device_->info().name, " holds ",
                           most + most_before, "; sort parts of them"));
  }
  // Parts of a size that fills any device, so that many rows need no more scratch than that.
  constexpr std::uint64_t enough_bytes = std::uint64_t{256} << 20;
  const std::uint64_t row_bytes = static_cast<std::uint64_t>(r.length) * std::uint64_t{8};
  const auto part =
      static_cast<Size>(std::max<std::uint64_t>(std::min(enough_bytes, most) / row_bytes, 1));
  for (Size first = 0; first < r.rows; first += part) {
    sort_part(r, first, std::min(part, r.rows - first));
  }
}

void GpuBackend::sort_part(const SortRequest& r, Size first, Size rows) {
  const std::size_t size = size_of(r.dtype);
  const bool narrow = size < 4;
  const DType raw = size == 1 ? DType::uint8 : DType::uint16;
  const auto part_of = [&](const BufferRange& range, Size width, DType dtype) {
    return BufferRange(range.allocation, range.offset + bytes_of(first * width, dtype),
                       bytes_of(rows * width, dtype));
  };
  SortRows s{r.op, sort_keys(r.dtype, r.descending), rows, r.length, r.kept, {}, {}, {},
             {},   r.index_dtype == DType::int64};
  s.source = part_of(r.input, r.length, r.dtype);
  if (r.values) s.values = part_of(r.values, r.kept, r.dtype);
  if (r.indices) s.indices = part_of(r.indices, r.kept, r.index_dtype);
  const auto words = [&](Size width) {
    return BufferRange(
        memory_->scratch(r.op, static_cast<std::uint64_t>(rows * width) * s.bytes()));
  };
  if (narrow) {
    const BufferRange given = s.source, target = s.values;
    s.source = words(r.length);
    do_map(raw_cast(given, raw, s.source, DType::uint32, rows * r.length));
    if (target) s.values = words(r.kept);
    sort_rows(s);
    if (target) do_map(raw_cast(s.values, DType::uint32, target, raw, rows * r.kept));
    return;
  }
  if (s.source == s.values && s.length <= s.most_in_group()) {
    // Whose workgroups read elements again when they write.
    const BufferRange given = s.source;
    s.source = words(r.length);
    do_copy_dtod(*s.source.allocation, *given.allocation, given.bytes, 0, given.offset);
  }
  sort_rows(s);
}

void GpuBackend::sort_rows(const SortRows& s) {
  if (s.length <= s.most_in_group()) return sort_in_groups(s);
  if (s.kept < s.length) return select_rows(s);
  sort_by_digits(s);
}

void GpuBackend::sort_in_groups(const SortRows& s) {
  const auto padded =
      static_cast<Size>(std::bit_ceil(static_cast<std::uint64_t>(std::max<Size>(s.length, 2))));
  const MoveOperands operands(s, device_->limits(), nullptr);
  const struct {
    std::uint32_t start, length, padded, rows, kept;
    KeyParams keys;
    std::uint32_t values_start, indices_start;
  } params{operands.start, u32(s.length),         u32(padded),           u32(s.rows),
           u32(s.kept),    key_params(s.keys, 0), operands.values_start, operands.indices_start};
  run(KernelId::sort_rows, operands.variant, params, operands.bindings,
      cover(static_cast<std::uint64_t>(s.rows),
            static_cast<std::uint64_t>(s.most_in_group() / padded)),
      [&](TemplateVariables& v) { operands.fill(s, v); });
}

void GpuBackend::sum_counts(std::string_view op, const AllocationRef& counts,
                            const AllocationRef& before, Size rows, Size length) {
  FoldRequest r;
  r.call = op;
  r.op = Reduction::sum;
  r.scan = true;
  r.exclusive = true;
  r.front = identity_program(DType::uint32);
  r.behind = r.front;
  r.results = rows;
  r.length = length;
  r.kept = rows == 1 ? 0 : 1;
  r.rank = r.kept + 1;
  r.operands = {{counts, 0}, {before, 0}};
  for (int each = 0; each < 3; ++each) {
    if (rows != 1) r.sizes.push_back(each == 0 ? rows : length);
    r.sizes.push_back(each == 0 ? length : 1);
  }
  do_scan(r);
}

void GpuBackend::sort_by_digits(const SortRows& s) {
  const int passes = s.keys.bits / digit_bits;
  const Blocks blocks = digit_blocks(s, device_->limits());
  const Size counted = digit_values * blocks.of_row;
  const auto scratch = [&](Size elements, std::uint64_t bytes) {
    return memory_->scratch(s.call, static_cast<std::uint64_t>(elements) * bytes);
  };
  const AllocationRef counts = scratch(s.rows * counted, 4), before = scratch(s.rows * counted, 4);
  const Size n = s.rows * s.length;
  // Passes write to `odd` and `even` in turn, and the last one to the outputs, which are `even`
  // where they hold what is between.
  BufferRange odd, even = s.values, odd_places, even_places;
  if (passes > 1) odd = scratch(n, s.bytes());
  if (passes > 2 && !even) even = scratch(n, s.bytes());
  if (s.indices) {
    // Kernels read places from where their binding starts, which those of a later part may not.
    const bool aligned = s.indices.offset % device_->limits().binding_alignment == 0;
    if (!s.wide_indices && aligned) even_places = s.indices;
    if (passes > 1) odd_places = scratch(n, 4);
    if (passes > 2 && !even_places) even_places = scratch(n, 4);
  }
  SortRows step = s;
  for (int pass = 0; pass < passes; ++pass) {
    const bool last = pass + 1 == passes, to_even = (passes - pass) % 2 == 1;
    step.values = last ? s.values : to_even ? even : odd;
    if (s.indices) {
      step.indices = last ? s.indices : to_even ? even_places : odd_places;
      step.wide_indices = last && s.wide_indices;
    }
    const KeyParams keys = key_params(s.keys, pass * digit_bits);
    const Binding before_binding = window(before, 0);
    const MoveOperands operands(step, device_->limits(), &before_binding);
    const struct {
      std::uint32_t start, length, tile, blocks, groups;
      KeyParams keys;
      std::uint32_t low_mask, high_mask;
    } count_params{operands.start,
                   u32(s.length),
                   u32(blocks.tile),
                   u32(blocks.of_row),
                   u32(blocks.all),
                   keys,
                   0,
                   0};
    const std::array<Binding, 2> count_bindings{operands.bindings[0], window(counts, 0)};
    const auto grid = cover(static_cast<std::uint64_t>(blocks.all), 1);
    run(KernelId::sort_counts, s.wide() ? 2 : 0, count_params, count_bindings, grid,
        [&](TemplateVariables& v) {
          v["GROUP"] = std::int64_t{group_size};
          v["WORDS"] = std::int64_t{s.wide() ? 2 : 1};
          v["SELECT"] = std::int64_t{0};
        });
    sum_counts(s.call, counts, before, s.rows, counted);
    const struct {
      std::uint32_t start, length, tile, blocks, groups;
      KeyParams keys;
      std::uint32_t values_start, indices_start;
    } params{operands.start,  u32(s.length), u32(blocks.tile),      u32(blocks.of_row),
             u32(blocks.all), keys,          operands.values_start, operands.indices_start};
    const ScatterGroup group(step, blocks.tile, device_->limits());
    const std::uint32_t variant =
        (operands.variant * 32 + static_cast<std::uint32_t>(group.rounds)) * 64 + group.lanes;
    run(KernelId::sort_scatter, variant * 8 + static_cast<std::uint32_t>(group.items / group_size),
        params, operands.bindings, grid, [&](TemplateVariables& v) {
          operands.fill(step, v);
          v["GROUP"] = group.items;
          v["ROUNDS"] = group.rounds;
          v["LANES"] = std::int64_t{group.lanes};
        });
    step.source = step.values;
    if (s.indices) step.places = step.indices;
  }
}

void GpuBackend::select_rows(const SortRows& s) {
  const Blocks blocks(s.rows, s.length);
  const auto scratch = [&](Size elements, std::uint64_t bytes) {
    return memory_->scratch(s.call, static_cast<std::uint64_t>(elements) * bytes);
  };
  const Size digits = s.rows * digit_values, parts = 2 * s.rows * blocks.of_row;
  const AllocationRef counts = scratch(digits, 4), states = scratch(s.rows, 16);
  const AllocationRef split = scratch(parts, 4), before = scratch(parts, 4);
  SortRows selected = s;
  selected.length = s.kept;
  selected.source = scratch(s.rows * s.kept, s.bytes());
  selected.places = scratch(s.rows * s.kept, 4);

  const Placed source = placed(s.source, s.bytes(), device_->limits());
  const auto words = [&](TemplateVariables& v) {
    v["GROUP"] = std::int64_t{group_size};
    v["WORDS"] = std::int64_t{s.wide() ? 2 : 1};
  };
  const auto grid = cover(static_cast<std::uint64_t>(blocks.all), 1);
  const struct {
    std::uint32_t n, value;
  } zeros{u32(digits), 0};
  const Binding counts_binding = window(counts, 0), states_binding = window(states, 0);
  run(KernelId::fill, 0, zeros, std::span(&counts_binding, 1),
      cover(static_cast<std::uint64_t>(digits), group_size),
      [](TemplateVariables& v) { set_common(v, DType::float32); });
  for (int shift = s.keys.bits - digit_bits; shift >= 0; shift -= digit_bits) {
    // The digits above this one.
    const std::uint64_t mask =
        shift + digit_bits == 64 ? 0 : ~std::uint64_t{0} << (shift + digit_bits);
    const struct {
      std::uint32_t start, length, tile, blocks, groups;
      KeyParams keys;
      std::uint32_t low_mask, high_mask;
    } params{source.start,
             u32(s.length),
             u32(blocks.tile),
             u32(blocks.of_row),
             u32(blocks.all),
             key_params(s.keys, shift),
             shift + digit_bits == s.keys.bits ? 0 : static_cast<std::uint32_t>(mask),
             high_word(mask)};
    const std::array<Binding, 3> bindings{source.binding, counts_binding, states_binding};
    run(KernelId::sort_counts, s.wide() ? 3 : 1, params, bindings, grid, [&](TemplateVariables& v) {
      words(v);
      v["SELECT"] = std::int64_t{1};
    });
    const struct {
      std::uint32_t first, selected, shift, rows;
    } digit{shift + digit_bits == s.keys.bits ? 1u : 0u, u32(s.kept),
            static_cast<std::uint32_t>(shift), u32(s.rows)};
    run(KernelId::sort_digit, 0, digit, std::span(bindings).subspan(1),
        cover(static_cast<std::uint64_t>(s.rows), 1),
        [](TemplateVariables& v) { v["GROUP"] = std::int64_t{group_size}; });
  }
  const struct {
    std::uint32_t start, length, tile, blocks, groups;
    KeyParams keys;
    std::uint32_t kept;
  } params{source.start,    u32(s.length),         u32(blocks.tile), u32(blocks.of_row),
           u32(blocks.all), key_params(s.keys, 0), u32(s.kept)};
  const auto split_rows = [&](bool write, std::span<const Binding> bindings) {
    run(KernelId::sort_split, (s.wide() ? 2 : 0) + (write ? 1 : 0), params, bindings, grid,
        [&](TemplateVariables& v) {
          words(v);
          v["WRITE"] = std::int64_t{write};
        });
  };
  const std::array<Binding, 3> counting{source.binding, states_binding, window(split, 0)};
  split_rows(false, counting);
  sum_counts(s.call, split, before, 2 * s.rows, blocks.of_row);
  const std::array<Binding, 5> moving{source.binding, states_binding, window(before, 0),
                                      window(selected.source, 0), window(selected.places, 0)};
  split_rows(true, moving);
  sort_rows(selected);
}

}  // namespace tilewright::gpu
