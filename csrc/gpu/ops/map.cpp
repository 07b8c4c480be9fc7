#include "gpu/ops/map.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "core/map_lines.hpp"
#include "core/program/program_data.hpp"
#include "core/text.hpp"
#include "gpu/backend.hpp"
#include "gpu/plan.hpp"
#include "tilewright/error.hpp"

// Programs: which kernel form walks what operands lie like, in how many launches.
namespace tilewright::gpu {

namespace {

/// Work-items count elements in 32 bits, with some room.
constexpr Size most_elements = Size{1} << 31;
/// The largest quad, of 64-bit elements.
constexpr std::uint64_t most_quad_bytes = 32;
/// What a work-item reads of one operand before it uses the first, as measured.
constexpr std::uint32_t bytes_of_item = 32;
/// From here on a work-item that finds the place of each element has several.
constexpr Size least_shared = Size{1} << 20;
/// Values that a kernel computes at most for the sake of several quads a work-item.
constexpr std::size_t most_unrolled = 128;

Size magnitude(Size n) { return n < 0 ? -n : n; }

struct Reach {
  Size before = 0, behind = 0;
};

Reach reach_of(const MapRequest& r, const MapPiece& piece, std::size_t operand) {
  Reach reach;
  const auto strides = r.strides(operand);
  for (std::size_t d = 0; d < r.rank; ++d) {
    const Size step = (piece.shape[d] - 1) * strides[d];
    (step < 0 ? reach.before : reach.behind) += step < 0 ? -step : step;
  }
  return reach;
}

/// The dimension to cut so that an operand reaches less far; that of most elements for none.
std::size_t dimension_to_cut(const MapRequest& r, const MapPiece& piece,
                             std::optional<std::size_t> operand) {
  std::size_t widest = 0;
  Size most = -1;
  for (std::size_t d = 0; d < r.rank; ++d) {
    if (piece.shape[d] == 1) continue;
    const Size stride = operand ? r.strides(*operand)[d] : 1;
    const Size width = (piece.shape[d] - 1) * (stride < 0 ? -stride : stride);
    if (width > most) {
      most = width;
      widest = d;
    }
  }
  return widest;
}

/// Whether neighbours along dimension d lie closer than those along the last one.
bool lies_across(const MapRequest& r, std::size_t o, std::size_t d) {
  const Size down = magnitude(r.strides(o)[d]), right = magnitude(r.strides(o)[r.rank - 1]);
  return down != 0 && down < right;
}

/// Whether the tiles of a workgroup can be gone through by way of its memory.
bool stages_tiles(const MapRequest& r, const std::vector<bool>& used, std::size_t d,
                  bool stores_bytes) {
  std::size_t staged = 0;
  for (std::size_t o = 0; o < r.operands.size(); ++o) {
    if (!used[o]) continue;
    const std::size_t size = size_of(operand_dtype(*r.program, o));
    const bool is_input = o < r.same_as.size(), across = lies_across(r, o, d);
    if (size > 4 || (!is_input && (across || (size < 4 && !stores_bytes)))) return false;
    staged += is_input && across ? 1 : 0;
  }
  return staged > 0 && staged <= most_staged;
}

class Walks {
 public:
  Walks(const MapRequest& r, const MapPiece& piece, const MapPlaces& places, bool stores_bytes)
      : r_(r), piece_(piece), places_(places), stores_bytes_(stores_bytes) {}

  Layout layout() {
    if (piece_.across) return Layout::tiles;
    if (piece_.packed) return Layout::single;
    if (all([&](std::size_t o) { return flat(o); })) return Layout::flat;
    const bool small = any([&](std::size_t o) { return needs_words(o); });
    const bool whole_rows = piece_.shape[r_.rank - 1] % 4 == 0;
    const auto by_quads = [&](std::size_t o) { return quads_of_rows(o) || row(o); };
    if (whole_rows && !small && (piece_.tiled || all(by_quads))) return Layout::rows;
    if (small && whole_rows &&
        all([&](std::size_t o) { return !needs_words(o) || quads_of_rows(o); })) {
      return Layout::rows;
    }
    for (std::size_t o = inputs(); o < count() && !outputs_meet(); ++o) {
      if (!needs_words(o) || !dense(o)) continue;
      shift_ = places_.starts[o] % 4;
      return Layout::split;
    }
    return Layout::single;
  }
  /// Of the layout that was chosen.
  Walk walk(Layout layout, std::size_t o) const {
    switch (layout) {
      case Layout::flat:
        return r_.strides(o)[0] == 0 ? Walk::one : Walk::quads;
      case Layout::rows:
        if (quads_of_rows(o)) return Walk::quads;
        if (row(o)) return Walk::row;
        break;
      case Layout::split:
        if (dense(o) && places_.starts[o] % 4 == shift_) return Walk::quads;
        break;
      case Layout::tiles:
        if (o < inputs() && lies_across(r_, o, *piece_.across)) return Walk::staged;
        break;
      case Layout::single:
        break;
    }
    if (o < inputs() && everywhere_one(o)) return Walk::one;
    return needs_words(o) ? Walk::shared : Walk::places;
  }
  std::uint32_t shift() const { return shift_; }

 private:
  std::size_t inputs() const { return r_.same_as.size(); }
  std::size_t count() const { return r_.operands.size(); }
  template <class Test>
  bool all(const Test& test) const {
    return !any([&](std::size_t o) { return !test(o); });
  }
  template <class Test>
  bool any(const Test& test) const {
    for (std::size_t o = 0; o < count(); ++o) {
      if (piece_.used[o] && test(o)) return true;
    }
    return false;
  }
  bool needs_words(std::size_t o) const {
    return !stores_bytes_ && o >= inputs() && size_of(operand_dtype(*r_.program, o)) < 4;
  }
  /// Whether two outputs are in one buffer, and so maybe in one word.
  bool outputs_meet() const {
    for (std::size_t a = inputs(); a < count(); ++a) {
      for (std::size_t b = inputs(); b < a; ++b) {
        if (places_.bindings[a].buffer == places_.bindings[b].buffer) return true;
      }
    }
    return false;
  }
  bool flat(std::size_t o) const {
    if (r_.rank != 1) return false;
    const Size stride = r_.strides(o)[0];
    return (stride == 1 && places_.starts[o] % 4 == 0) || (stride == 0 && o < inputs());
  }
  bool quads_of_rows(std::size_t o) const {
    const auto strides = r_.strides(o);
    for (std::size_t d = 0; d + 1 < r_.rank; ++d) {
      if (piece_.shape[d] != 1 && strides[d] % 4 != 0) return false;
    }
    return strides[r_.rank - 1] == 1 && places_.starts[o] % 4 == 0;
  }
  bool row(std::size_t o) const { return o < inputs() && r_.strides(o)[r_.rank - 1] == 0; }
  bool everywhere_one(std::size_t o) const {
    const auto strides = r_.strides(o);
    for (std::size_t d = 0; d < r_.rank; ++d) {
      if (piece_.shape[d] != 1 && strides[d] != 0) return false;
    }
    return true;
  }
  bool dense(std::size_t o) const {
    const auto strides = r_.strides(o);
    Size expected = 1;
    for (std::size_t d = r_.rank; d-- > 0;) {
      if (piece_.shape[d] != 1 && strides[d] != expected) return false;
      expected *= piece_.shape[d];
    }
    return true;
  }

  const MapRequest& r_;
  const MapPiece& piece_;
  const MapPlaces& places_;
  const bool stores_bytes_;
  std::uint32_t shift_ = 0;
};

/// Of flat: as many quads as the operand with the largest elements reads well.
std::uint8_t vectors_of(const MapRequest& r, const MapPiece& piece) {
  std::size_t largest = 1;
  for (std::size_t o = 0; o < piece.used.size(); ++o) {
    if (piece.used[o]) largest = std::max(largest, size_of(operand_dtype(*r.program, o)));
  }
  const std::size_t vectors = bytes_of_item / (4 * largest);
  return vectors * r.program->nodes.size() > most_unrolled ? 1 : static_cast<std::uint8_t>(vectors);
}

/// Of other layouts, where a work-item would have single elements: so many of many.
std::uint8_t items_of(const MapRequest& r, const MapPiece& piece, Layout layout) {
  constexpr std::size_t wanted = 4;
  const bool pays = layout == Layout::single && piece.n >= least_shared;
  const bool is_small = wanted * r.program->nodes.size() <= most_unrolled;
  return static_cast<std::uint8_t>(pays && is_small ? wanted : 1);
}

/// The numbers as parameters, and how many words they are.
template <class Words>
std::size_t number_words_of(const MapRequest& r, Words words) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < r.numbers.size(); ++i) {
    const DType dtype = r.program->nodes[r.program->numbers[i]].dtype;
    const std::uint64_t bits = class_bits(dtype, r.numbers[i]);
    *words++ = static_cast<std::uint32_t>(bits);
    if (number_words(dtype) == 2) *words++ = static_cast<std::uint32_t>(bits >> 32);
    count += number_words(dtype);
  }
  return count;
}

std::vector<std::uint32_t> params_of(const MapRequest& r, const MapPiece& piece,
                                     const ProgramForm& form, const MapPlaces& places,
                                     std::uint32_t shift) {
  std::vector<std::uint32_t> words;
  words.reserve(params_words(*r.program, form));
  words.push_back(u32(piece.n));
  if (form.layout == Layout::split) words.push_back(shift);
  for (std::size_t d = 0; d < form.rank; ++d) words.push_back(u32(piece.shape[d]));
  for (std::size_t o = 0; o < form.operands.size(); ++o) {
    if (form.has_start(form.operands[o])) words.push_back(places.starts[o]);
    if (!form.has_strides(form.operands[o])) continue;
    for (std::size_t d = 0; d < form.rank; ++d) words.push_back(u32(r.strides(o)[d]));
  }
  number_words_of(r, std::back_inserter(words));
  return words;
}

/// The side of the tiles in which operands are gone through that lie along different dimensions.
constexpr Size tile = 32;
/// From here on tiles gain more than their launches cost.
constexpr Size least_tiled = 1 << 16;

/// Dimension d and the last one, multiples of tiles, as tiles and what is in them.
MapRequest in_tiles(const MapRequest& r, std::size_t d) {
  MapRequest tiles = r;
  tiles.rank = r.rank + 2;
  tiles.sizes.clear();
  const auto add = [&](std::span<const Size> of, bool is_shape) {
    const std::size_t last = r.rank - 1;
    for (std::size_t i = 0; i < last; ++i) {
      tiles.sizes.push_back(i != d ? of[i] : is_shape ? of[d] / tile : of[d] * tile);
    }
    tiles.sizes.push_back(is_shape ? of[last] / tile : of[last] * tile);
    tiles.sizes.push_back(is_shape ? tile : of[d]);
    tiles.sizes.push_back(is_shape ? tile : of[last]);
  };
  add(r.shape(), true);
  for (std::size_t o = 0; o < r.operands.size(); ++o) add(r.strides(o), false);
  return tiles;
}

/// Whether a launch may need its parameters in a buffer, as it does where they are many.
bool may_need_params_buffer(const MapRequest& r, const DeviceLimits& limits) {
  const std::size_t words = 2 + r.rank + r.operands.size() * (1 + r.rank) + 2 * r.numbers.size();
  return words * sizeof(std::uint32_t) > limits.max_params_bytes;
}

}  // namespace

MapPiece piece_of(const MapRequest& r, const std::vector<bool>& used) {
  MapPiece piece{used, r.n, {}, {}};
  std::copy(r.shape().begin(), r.shape().end(), piece.shape.begin());
  piece.offsets.reserve(r.operands.size());
  for (const MapRequest::Operand& operand : r.operands) piece.offsets.push_back(operand.offset);
  return piece;
}

MapRequest part_of(const MapRequest& r, std::size_t d, Size first, Size count) {
  MapRequest part = r;
  part.n = r.n / r.shape()[d] * count;
  part.sizes[d] = count;
  for (std::size_t o = 0; o < part.operands.size(); ++o) {
    part.operands[o].offset += first * r.strides(o)[d];
  }
  return part;
}

void GpuBackend::require_dtypes(std::string_view op, const ProgramData& program,
                                const std::vector<bool>& needed) const {
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    if (!needed[i]) continue;
    const DType dtype = program.nodes[i].dtype;
    const std::string_view lacking = lacking_feature(dtype);
    if (lacking.empty()) continue;
    throw Unsupported(text(op, ": ", device_->info().name, " has no ", to_string(dtype),
                           " in kernels: it lacks the feature ", lacking,
                           "; use another dtype, or the cpu backend"));
  }
}

std::uint64_t GpuBackend::place_alignment() const {
  return std::max<std::uint64_t>(device_->limits().binding_alignment, most_quad_bytes);
}

void GpuBackend::run_op(OpId id, std::string_view op, const MapRequest& r,
                        void (GpuBackend::*launch)(const MapRequest&)) {
  std::array<OperandPlace, LaunchPlan::most_bindings> places;
  std::array<std::uint32_t, 32> words;
  if (r.operands.size() > places.size() || 2 * r.numbers.size() > words.size()) {
    return (this->*launch)(r);
  }
  PlanKey key(static_cast<std::uint64_t>(id));
  key.add(r.program->hash);
  key.add(r.rank);
  for (const Size size : r.sizes) key.add(size);
  for (const std::uint32_t output : r.same_as) key.add(output);
  const auto used = add_places(key, places, r.operands,
                               [&](std::size_t o) { return operand_dtype(*r.program, o); });
  const std::size_t count = number_words_of(r, words.begin());
  run_planned(op, key, used, std::span(words).first(count), std::span(&r.program, 1),
              [&] { (this->*launch)(r); });
}

void GpuBackend::launch_map(const MapRequest& r) {
  const ProgramData& program = *r.program;
  const std::vector<bool> needed = program.needed();
  require_dtypes("map", program, needed);
  std::vector<bool> used(r.operands.size(), true);
  for (std::size_t i = 0; i < program.inputs.size(); ++i) used[i] = needed[program.inputs[i]];
  std::size_t bound = may_need_params_buffer(r, device_->limits()) ? 1 : 0;
  for (std::size_t o = 0; o < r.operands.size(); ++o) {
    bound += used[o] && (o >= r.same_as.size() || r.same_as[o] == MapRequest::no_output);
  }
  if (bound > device_->limits().max_bindings) return map_packed(r, used);
  const auto run = [&](const MapRequest& part, bool tiled) {
    MapPiece piece = piece_of(part, used);
    piece.tiled = tiled;
    map_piece(part, piece);
  };
  const std::size_t last = r.rank - 1;
  const auto lines = r.n < least_tiled ? std::nullopt : dimension_of_lines(r);
  if (!lines || r.shape()[*lines] < tile || r.shape()[last] < tile || r.rank + 2 > max_rank) {
    return run(r, false);
  }
  const DeviceLimits& limits = device_->limits();
  if (device_->language() == KernelLanguage::wgsl && limits.max_group_size >= tile_group &&
      stages_tiles(r, used, *lines, limits.stores_bytes)) {
    MapPiece piece = piece_of(r, used);
    piece.across = lines;
    return map_piece(r, piece);
  }
  const auto whole = [&](std::size_t d) { return r.shape()[d] / tile * tile; };
  const auto rest = [&](std::size_t d) { return r.shape()[d] - whole(d); };
  const MapRequest rows = part_of(r, *lines, 0, whole(*lines));
  run(in_tiles(part_of(rows, last, 0, whole(last)), *lines), true);
  if (rest(last) != 0) run(part_of(rows, last, whole(last), rest(last)), false);
  if (rest(*lines) != 0) run(part_of(r, *lines, whole(*lines), rest(*lines)), false);
}

void GpuBackend::map_piece(const MapRequest& r, const MapPiece& piece) {
  const std::uint64_t most = window_bytes();
  const std::uint64_t alignment = place_alignment();
  std::optional<std::size_t> cut;
  MapPlaces places;
  places.bindings.reserve(r.operands.size());
  places.starts.reserve(r.operands.size());
  for (std::size_t o = 0; o < r.operands.size(); ++o) {
    const std::uint64_t size = size_of(operand_dtype(*r.program, o));
    DeviceBuffer& buffer = buffer_of(r.operands[o].allocation);
    const Reach reach = reach_of(r, piece, o);
    const auto first = static_cast<std::uint64_t>(piece.offsets[o] - reach.before) * size;
    const auto past = static_cast<std::uint64_t>(piece.offsets[o] + reach.behind + 1) * size;
    const bool packed = piece.packed && o < r.same_as.size();
    const std::uint64_t offset = packed ? 0 : first / alignment * alignment;
    if (piece.used[o] && !packed && past - offset > most - most_quad_bytes) cut = o;
    places.bindings.push_back({&buffer, offset, std::min(buffer.bytes() - offset, most)});
    places.starts.push_back(static_cast<std::uint32_t>(
        (static_cast<std::uint64_t>(piece.offsets[o]) * size - offset) / size));
  }
  if (!cut && piece.n <= most_elements) return launch_piece(r, piece, places);
  const std::size_t d = dimension_to_cut(r, piece, cut);
  // Whole quads, and bindings that start where others may.
  constexpr Size coarse = 1024;
  Size half = piece.shape[d] / 2;
  if (half > coarse) half = half / coarse * coarse;
  MapPiece part = piece;
  part.n = piece.n / piece.shape[d] * half;
  part.shape[d] = half;
  map_piece(r, part);
  part.n = piece.n - part.n;
  part.shape[d] = piece.shape[d] - half;
  for (std::size_t o = 0; o < part.offsets.size(); ++o) part.offsets[o] += half * r.strides(o)[d];
  map_piece(r, part);
}

void GpuBackend::launch_piece(const MapRequest& r, const MapPiece& piece, const MapPlaces& places) {
  const DeviceLimits& limits = device_->limits();
  Walks walks(r, piece, places, limits.stores_bytes);
  ProgramForm form;
  form.layout = walks.layout();
  form.group = elementwise_group_;
  form.rank = form.layout == Layout::flat ? 0 : static_cast<std::uint8_t>(r.rank);
  if (form.layout == Layout::flat) {
    form.vectors = vectors_of(r, piece);
  } else if (form.layout == Layout::tiles) {
    form.group = tile_group;
    form.across = static_cast<std::uint8_t>(*piece.across);
  } else if (form.layout != Layout::split && device_->language() == KernelLanguage::wgsl) {
    form.vectors = items_of(r, piece, form.layout);
  }
  const std::size_t inputs = r.same_as.size();
  std::vector<Binding> bindings;
  bindings.reserve(r.operands.size() + 1);
  form.operands.resize(r.operands.size());
  const auto bind = [&](std::size_t o, bool writable) {
    std::size_t at = bindings.size();
    if (piece.packed && o < inputs) {
      const auto same = [&](const Binding& b) { return b.buffer == places.bindings[o].buffer; };
      at = static_cast<std::size_t>(std::ranges::find_if(bindings, same) - bindings.begin());
    }
    if (at == bindings.size()) bindings.push_back(places.bindings[o]);
    form.operands[o] = {walks.walk(form.layout, o), static_cast<std::uint8_t>(at), writable};
    form.starts |= form.layout == Layout::flat && places.starts[o] != 0;
  };
  const auto is_output = [&](std::size_t i) {
    return std::any_of(r.operands.begin() + static_cast<std::ptrdiff_t>(inputs), r.operands.end(),
                       [&](const MapRequest::Operand& output) {
                         return &buffer_of(output.allocation) == places.bindings[i].buffer;
                       });
  };
  for (std::size_t i = 0; i < inputs; ++i) {
    if (piece.used[i] && r.same_as[i] == MapRequest::no_output) bind(i, is_output(i));
  }
  for (std::size_t o = inputs; o < r.operands.size(); ++o) bind(o, true);
  for (std::size_t i = 0; i < inputs; ++i) {
    if (!piece.used[i] || r.same_as[i] == MapRequest::no_output) continue;
    form.operands[i] = form.operands[inputs + r.same_as[i]];
  }
  Binding& first_output = bindings[form.operands[inputs].binding];
  if (form.layout == Layout::flat && !form.starts && r.numbers.empty() && counted(piece.n)) {
    form.counted = true;
    first_output.bytes = bytes_of(piece.n, operand_dtype(*r.program, inputs));
  }
  std::vector<std::uint32_t> params;
  if (!form.counted) params = params_of(r, piece, form, places, walks.shift());
  AllocationRef params_buffer;
  if (params.size() * sizeof(std::uint32_t) > limits.max_params_bytes) {
    form.params_in_buffer = true;
    const auto bytes = std::as_bytes(std::span(params));
    params_buffer = memory_->written_once("map", bytes.size());
    DeviceBuffer& buffer = buffer_of(params_buffer);
    memory_->with_room([&] { device_->upload(buffer, 0, bytes); });
    bindings.push_back({&buffer, 0, bytes.size()});
    params.clear();
  }
  const std::uint64_t n = static_cast<std::uint64_t>(piece.n);
  if (piece.across) {
    const std::size_t last = r.rank - 1;
    std::uint64_t count = 1;
    for (std::size_t d = 0; d < r.rank; ++d) {
      const bool is_cut = d == last || d == *piece.across;
      count *= static_cast<std::uint64_t>(is_cut ? (piece.shape[d] + tile_side - 1) / tile_side
                                                 : piece.shape[d]);
    }
    const auto tiles = program_pipeline(r.program, form);
    device_->launch({tiles.get(), bindings, std::as_bytes(std::span(params)), cover(count, 1)});
    return;
  }
  const std::uint64_t items = form.layout == Layout::single ? n : (n + walks.shift() + 3) / 4;
  const std::uint32_t items_of_group = form.group * form.vectors;
  const auto pipeline = program_pipeline(r.program, form);
  device_->launch(
      {pipeline.get(), bindings, std::as_bytes(std::span(params)), cover(items, items_of_group)});
}

}  // namespace tilewright::gpu
