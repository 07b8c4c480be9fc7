#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "gpu/backend.hpp"
#include "gpu/plan.hpp"
#include "tilewright/error.hpp"

// Elements by arrays of indices. They move as words, by their size; rows as longer items.
namespace tilewright::gpu {

namespace {

/// What the kernels walk.
constexpr std::size_t most_dims = 6;
constexpr Size most_elements = Size{1} << 31;
constexpr std::size_t most_item = 16;

struct Reach {
  Size before = 0, behind = 0;
  void add(Size count, Size stride) {
    const Size step = (count - 1) * stride;
    (step < 0 ? before : behind) += step < 0 ? -step : step;
  }
};

/// Steps are less.
constexpr std::uint64_t no_step = std::numeric_limits<std::uint32_t>::max();

/// The operands: source, output, then the index arrays.
struct Place {
  const MapRequest::Operand* operand;
  std::span<const Size> strides;
  std::size_t size;
  bool indexed;
};

std::vector<Place> places_of(const MoveRequest& r) {
  std::vector<Place> all{{&r.source, r.source_strides(), r.item, !r.scatter},
                         {&r.output, r.output_strides(), r.item, r.scatter}};
  for (std::size_t i = 0; i < r.indices.size(); ++i) {
    all.push_back({&r.indices[i].operand, r.index_strides(i), size_of(r.indices[i].dtype), false});
  }
  return all;
}

/// Of the walk alone.
Reach walk_of(const MoveRequest& r, const Place& place) {
  Reach reach;
  for (std::size_t d = 0; d < r.rank; ++d) reach.add(r.shape()[d], place.strides[d]);
  return reach;
}

Reach reach_of(const MoveRequest& r, const Place& place) {
  Reach reach = walk_of(r, place);
  for (const MoveRequest::Index& index : r.indices) {
    if (place.indexed) reach.add(index.size, index.stride);
  }
  return reach;
}

/// What all indices make of the place of an item together.
Size steps_of(const MoveRequest& r) {
  Size steps = 1;
  for (const MoveRequest::Index& index : r.indices) {
    steps += std::max<Size>(index.size - 1, 0) * (index.stride < 0 ? -index.stride : index.stride);
  }
  return steps;
}

void move_along(MoveRequest& r, std::size_t d, Size by) {
  r.source.offset += by * r.source_strides()[d];
  r.output.offset += by * r.output_strides()[d];
  for (std::size_t i = 0; i < r.indices.size(); ++i) {
    r.indices[i].operand.offset += by * r.index_strides(i)[d];
  }
}

/// `count` elements of a dimension from one on.
MoveRequest part_of(const MoveRequest& r, std::size_t d, Size first, Size count) {
  MoveRequest part = r;
  part.n = r.n / r.shape()[d] * count;
  part.sizes[d] = count;
  move_along(part, d, first);
  return part;
}

/// Without a dimension of one element.
MoveRequest without(MoveRequest r, std::size_t d) {
  for (std::size_t i = r.sizes.size() / r.rank; i-- > 0;) {
    r.sizes.erase(r.sizes.begin() + static_cast<std::ptrdiff_t>(i * r.rank + d));
  }
  --r.rank;
  return r;
}

/// Rows of whole items of `times` as many bytes, as far as everything lies on their size.
bool takes_longer_items(const MoveRequest& r, Size times) {
  const auto whole = [&](Size size) { return size % times == 0; };
  const std::size_t last = r.rank - 1;
  if (r.source_strides()[last] != 1 || r.output_strides()[last] != 1) return false;
  if (!whole(r.shape()[last]) || !whole(r.source.offset) || !whole(r.output.offset)) return false;
  for (std::size_t i = 0; i < r.indices.size(); ++i) {
    if (r.index_strides(i)[last] != 0 || !whole(r.indices[i].stride)) return false;
  }
  for (std::size_t d = 0; d < last; ++d) {
    if (!whole(r.source_strides()[d]) || !whole(r.output_strides()[d])) return false;
  }
  return true;
}

MoveRequest in_longer_items(MoveRequest r) {
  Size times = static_cast<Size>(most_item / r.item);
  while (times > 1 && !takes_longer_items(r, times)) times /= 2;
  if (times == 1) return r;
  r.item *= static_cast<std::size_t>(times);
  r.n /= times;
  r.source.offset /= times;
  r.output.offset /= times;
  for (MoveRequest::Index& index : r.indices) index.stride /= times;
  r.sizes[r.rank - 1] /= times;
  for (std::size_t operand = 1; operand <= 2; ++operand) {
    for (std::size_t d = 0; d + 1 < r.rank; ++d) r.sizes[operand * r.rank + d] /= times;
  }
  return r;
}

bool is_dense(const MoveRequest& r, std::span<const Size> strides) {
  Size expected = 1;
  for (std::size_t d = r.rank; d-- > 0;) {
    if (r.shape()[d] != 1 && strides[d] != expected) return false;
    expected *= r.shape()[d];
  }
  return true;
}

/// What a kernel takes of an index array.
struct IndexForm {
  std::uint32_t bytes, is_signed;
};

IndexForm form_of(const MoveRequest::Index& index) {
  const bool is_signed = index.dtype == DType::int8 || index.dtype == DType::int16 ||
                         index.dtype == DType::int32 || index.dtype == DType::int64;
  return {static_cast<std::uint32_t>(size_of(index.dtype)), is_signed ? 1u : 0u};
}

/// Of an index whose axis goes backwards: what the last one reaches.
std::uint32_t back_of(const MoveRequest::Index& index) {
  return index.stride < 0 ? u32((index.size - 1) * -index.stride) : 0;
}

/// Whether two index arrays lie alike, so that one launch takes both.
bool is_pair(const MoveRequest& r) {
  return r.indices.size() == 2 && r.indices[0].dtype == r.indices[1].dtype &&
         std::ranges::equal(r.index_strides(0), r.index_strides(1));
}

}  // namespace

void GpuBackend::run_op(OpId id, std::string_view op, const MoveRequest& r,
                        void (GpuBackend::*launch)(const MoveRequest&)) {
  std::array<OperandPlace, LaunchPlan::most_bindings> room;
  const std::size_t count = 2 + r.indices.size();
  // Of more dimensions than a kernel walks there are launches without number.
  if (count > room.size() || r.rank > most_dims) return (this->*launch)(r);
  PlanKey key(static_cast<std::uint64_t>(id));
  key.add(r.item);
  key.add(r.rank);
  key.add(faults_->name(r.name));
  for (const Size size : r.sizes) key.add(size);
  const std::uint64_t alignment = place_alignment();
  room[0] = add_place(key, r.source, r.item, alignment);
  room[1] = add_place(key, r.output, r.item, alignment);
  for (std::size_t i = 0; i < r.indices.size(); ++i) {
    const MoveRequest::Index& index = r.indices[i];
    key.add(index.dtype);
    key.add(index.size);
    key.add(index.stride);
    key.add(index.axis);
    room[2 + i] = add_place(key, index.operand, size_of(index.dtype), alignment);
  }
  const std::span<const OperandPlace> places = std::span(room).first(count);
  key.add(places);
  run_planned(op, key, places, {}, {}, [&] { (this->*launch)(r); });
}

void GpuBackend::launch_gather_elements(const MoveRequest& r) { move_region(r); }
void GpuBackend::launch_scatter_elements(const MoveRequest& r) { move_region(r); }

void GpuBackend::move_region(const MoveRequest& r) {
  if (r.rank > most_dims) {
    for (Size i = 0; i < r.shape()[0]; ++i) move_region(without(part_of(r, 0, i, 1), 0));
    return;
  }
  const std::uint64_t most = window_bytes() - 2 * device_->limits().binding_alignment - most_item;
  std::optional<std::size_t> cut;
  for (const Place& place : places_of(r)) {
    const Reach reach = reach_of(r, place);
    const auto bytes_of_reach = [&](const Reach& all) {
      return (static_cast<std::uint64_t>(all.before) + static_cast<std::uint64_t>(all.behind) + 1) *
             place.size;
    };
    const std::uint64_t bytes = bytes_of_reach(reach);
    if (bytes <= most) continue;
    // What indices reach through is bound in windows, beside what the walk does.
    const bool in_windows = place.indexed && static_cast<std::uint64_t>(steps_of(r)) < no_step;
    if (in_windows && bytes_of_reach(walk_of(r, place)) <= most / 2) continue;
    Size widest = 0;
    for (std::size_t d = 0; d < r.rank; ++d) {
      Reach along;
      along.add(r.shape()[d], place.strides[d]);
      if (along.before + along.behind <= widest) continue;
      widest = along.before + along.behind;
      cut = d;
    }
    if (widest == 0) {
      throw Unsupported(text(r.name, ": the indices reach through ", bytes,
                             " bytes, but one binding of ", device_->info().name, " holds ", most,
                             "; index parts of the array"));
    }
  }
  if (!cut && r.n > most_elements) {
    cut = static_cast<std::size_t>(std::ranges::max_element(r.shape()) - r.shape().begin());
  }
  if (cut) {
    const Size half = r.shape()[*cut] / 2;
    move_region(part_of(r, *cut, 0, half));
    return move_region(part_of(r, *cut, half, r.shape()[*cut] - half));
  }
  if (r.indices.size() == 1 || is_pair(r)) return launch_move(in_longer_items(r), false);
  const MoveRequest stepped = with_steps(in_longer_items(r));
  launch_move(stepped, true);
}

MoveRequest GpuBackend::with_steps(const MoveRequest& r) {
  std::vector<std::size_t> dims;
  Size count = 1;
  for (std::size_t d = 0; d < r.rank; ++d) {
    const auto moves = [&](std::size_t i) { return r.index_strides(i)[d] != 0; };
    bool any = false;
    for (std::size_t i = 0; i < r.indices.size(); ++i) any |= moves(i);
    if (!any) continue;
    dims.push_back(d);
    count *= r.shape()[d];
  }
  const AllocationRef steps = memory_->scratch(r.call(), bytes_of(count, DType::uint32));
  Binding target{&buffer_of(steps), 0, buffer_of(steps).bytes()};
  const std::uint64_t alignment = device_->limits().binding_alignment;
  for (std::size_t i = 0; i < r.indices.size(); ++i) {
    const MoveRequest::Index& index = r.indices[i];
    const auto [bytes, is_signed] = form_of(index);
    const Place place{&index.operand, r.index_strides(i), bytes, false};
    DeviceBuffer& buffer = buffer_of(index.operand.allocation);
    const std::uint64_t offset =
        static_cast<std::uint64_t>(index.operand.offset - reach_of(r, place).before) * bytes /
        alignment * alignment;
    std::array<std::uint32_t, 7 + 2 * most_dims> params{
        u32(count),           u32(index.operand.offset - static_cast<Size>(offset / bytes)),
        u32(index.size),      u32(index.stride),
        back_of(index),       u32(index.axis),
        faults_->name(r.name)};
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const std::size_t dim = dims[dims.size() - 1 - d];
      params[7 + 2 * d] = u32(r.shape()[dim]);
      params[8 + 2 * d] = u32(r.index_strides(i)[dim]);
    }
    const std::array<Binding, 3> bindings{
        Binding{&buffer, offset, std::min(buffer.bytes() - offset, window_bytes())}, target,
        faults_->binding()};
    const bool first = i == 0;
    const auto rank = static_cast<std::uint32_t>(dims.size());
    run(KernelId::index_steps, bytes | is_signed << 4 | (first ? 1u : 0u) << 5 | rank << 6, params,
        bindings, cover(static_cast<std::uint64_t>(count), group_size), [&](TemplateVariables& v) {
          v["GROUP"] = std::int64_t{group_size};
          v["FIRST"] = std::int64_t{first};
          v["RANK"] = std::int64_t{rank};
          v["INDEX"] = std::int64_t{bytes};
          v["SIGNED"] = std::int64_t{is_signed};
        });
    faults_->may_be();
  }
  MoveRequest one = r;
  one.indices.resize(1);
  // What the others reach is the one's, as far as bindings are concerned.
  Reach reach;
  for (const MoveRequest::Index& index : r.indices) reach.add(index.size, index.stride);
  MapRequest::Operand& indexed = r.scatter ? one.output : one.source;
  indexed.offset -= reach.before;
  one.indices[0] = {{steps, 0}, DType::uint32, reach.before + reach.behind + 1, 1, 0};
  one.sizes.resize(4 * r.rank);
  std::fill(one.sizes.end() - static_cast<std::ptrdiff_t>(r.rank), one.sizes.end(), 0);
  Size step = 1;
  for (std::size_t d = dims.size(); d-- > 0;) {
    one.sizes[3 * r.rank + dims[d]] = step;
    step *= r.shape()[dims[d]];
  }
  return one;
}

GpuBackend::StepWindows GpuBackend::step_windows(const MoveRequest& r) const {
  const Size steps = steps_of(r);
  const Reach walk = walk_of(r, places_of(r)[r.scatter ? 1 : 0]);
  const std::uint64_t most =
      (window_bytes() - 2 * device_->limits().binding_alignment - most_item) / r.item;
  const Size room = static_cast<Size>(most) - walk.before - walk.behind;
  if (room >= steps) return {steps, steps, steps};
  // Of one index array there is nothing between the steps of two indices.
  const Size step = r.indices.size() == 1 ? std::abs(r.indices[0].stride) : 1;
  if (step == 0 || step > room) return {steps, room, std::max(step, room)};
  return {steps, room / step * step, room / step * step};
}

void GpuBackend::launch_move(const MoveRequest& r, bool has_steps) {
  const MoveRequest::Index& index = r.indices[0];
  const std::uint64_t alignment =
      std::max<std::uint64_t>(device_->limits().binding_alignment, most_item);
  const bool pair = r.indices.size() == 2;
  std::vector<Binding> bindings;
  std::array<std::uint32_t, 4> starts{};
  for (const Place& place : places_of(r)) {
    const Reach reach = reach_of(r, place);
    DeviceBuffer& buffer = buffer_of(place.operand->allocation);
    const std::uint64_t offset = static_cast<std::uint64_t>(place.operand->offset - reach.before) *
                                 place.size / alignment * alignment;
    Size back = 0;
    for (const MoveRequest::Index& one : r.indices) {
      if (place.indexed) back += static_cast<Size>(back_of(one));
    }
    starts.at(bindings.size()) =
        u32(place.operand->offset - back - static_cast<Size>(offset / place.size));
    bindings.push_back({&buffer, offset, std::min(buffer.bytes() - offset, window_bytes())});
  }
  std::swap(bindings[1], bindings[2]);
  bindings.insert(bindings.begin() + 3, faults_->binding());
  const StepWindows windows = step_windows(r);
  const bool small = r.item < 4;
  // Items of a word of the output may lie in several windows of the source.
  const bool atomic =
      small && (r.scatter || windows.are_several() || !is_dense(r, r.output_strides()));
  const bool aliased = bindings[0].buffer == bindings[2].buffer ||
                       bindings[1].buffer == bindings[2].buffer ||
                       (pair && bindings[4].buffer == bindings[2].buffer);
  const auto words = static_cast<std::uint32_t>(std::max<std::size_t>(r.item / 4, 1));
  const auto bytes_of_word = static_cast<std::uint32_t>(std::min<std::size_t>(r.item, 4));
  const IndexForm form = has_steps ? IndexForm{0, 0} : form_of(index);
  const auto rank = static_cast<std::uint32_t>(r.rank);
  constexpr std::size_t first_dim = 11;
  std::array<std::uint32_t, first_dim + 4 * most_dims> params{u32(r.n),
                                                              starts[0],
                                                              starts[1],
                                                              starts[2],
                                                              u32(index.size),
                                                              u32(index.stride),
                                                              back_of(index),
                                                              u32(index.axis),
                                                              faults_->name(r.name),
                                                              0,
                                                              u32(windows.each)};
  for (std::size_t i = 0; i < r.rank; ++i) {
    const std::size_t d = r.rank - 1 - i, at = first_dim + 4 * i;
    params[at] = u32(r.shape()[d]);
    params[at + 1] = u32(r.source_strides()[d]);
    params[at + 2] = u32(r.output_strides()[d]);
    params[at + 3] = u32(r.index_strides(0)[d]);
  }
  std::uint64_t items = static_cast<std::uint64_t>(r.n);
  if (small && !atomic) {
    const std::uint64_t of_word = 4 / r.item;
    items = (starts[1] + items - 1) / of_word - starts[1] / of_word + 1;
  }
  // Items that lie beside one another with one index wait for memory together.
  constexpr std::uint64_t enough_items = 1 << 18;
  const bool shares_index = r.rank > 0 && r.index_strides(0)[r.rank - 1] == 0;
  const bool several =
      device_->limits().compiles_templates && !small && shares_index && items >= enough_items;
  const std::uint32_t each = several ? 4 : 1;
  const std::uint32_t variant =
      words | bytes_of_word << 3 | (atomic ? 1u : 0u) << 6 | (r.scatter ? 1u : 0u) << 7 |
      rank << 8 | form.bytes << 11 | form.is_signed << 15 | (aliased ? 1u : 0u) << 16 |
      (pair ? 1u : 0u) << 17 | (several ? 1u : 0u) << 18 | (windows.are_several() ? 1u : 0u) << 19;
  const auto launch = [&](const auto& given) {
    run(KernelId::move_elements, variant, given, bindings, cover(items, group_size * each),
        [&](TemplateVariables& v) {
          v["GROUP"] = std::int64_t{group_size};
          v["EACH"] = std::int64_t{each};
          v["WORDS"] = std::int64_t{words};
          v["SMALL"] = std::int64_t{bytes_of_word};
          v["ATOMIC"] = std::int64_t{atomic};
          v["SCATTER"] = std::int64_t{r.scatter};
          v["RANK"] = std::int64_t{rank};
          v["INDEX"] = std::int64_t{form.bytes};
          v["SIGNED"] = std::int64_t{form.is_signed};
          v["ALIASED"] = std::int64_t{aliased};
          v["PAIR"] = std::int64_t{pair};
          v["WINDOW"] = std::int64_t{windows.are_several()};
        });
  };
  const auto launch_window = [&] {
    if (!pair) return launch(params);
    const MoveRequest::Index& other = r.indices[1];
    const std::array<std::uint32_t, 5> of_other{u32(other.size), u32(other.stride), back_of(other),
                                                u32(other.axis), starts[3] - starts[2]};
    std::array<std::uint32_t, params.size() + of_other.size()> of_both;
    std::ranges::copy(of_other, std::ranges::copy(params, of_both.begin()).out);
    launch(of_both);
  };
  Binding& by_steps = bindings[r.scatter ? 2 : 0];
  const std::uint64_t offset = by_steps.offset;
  for (Size first = 0; first < windows.steps; first += windows.apart) {
    if (windows.are_several()) {
      const std::uint64_t behind =
          static_cast<std::uint64_t>(first) * r.item / alignment * alignment;
      by_steps.offset = offset + behind;
      by_steps.bytes = std::min(by_steps.buffer->bytes() - by_steps.offset, window_bytes());
      params[r.scatter ? 2 : 1] =
          starts[r.scatter ? 1 : 0] - u32(static_cast<Size>(behind / r.item));
      params[9] = u32(first);
    }
    launch_window();
  }
  if (!has_steps) faults_->may_be();
}

}  // namespace tilewright::gpu
