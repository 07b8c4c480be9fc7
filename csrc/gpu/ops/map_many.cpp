#include "core/ops/map_many.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/program/program_data.hpp"
#include "gpu/backend.hpp"
#include "gpu/plan.hpp"
#include "tilewright/error.hpp"

// A program over groups of operands: as many groups in one launch as a kernel binds buffers.
namespace tilewright::gpu {

namespace {

/// Groups of a launch at most: a kernel has a branch for each of them.
constexpr std::size_t most_groups = 32;
/// Work-items count elements in 32 bits, with some room.
constexpr Size most_elements = Size{1} << 31;
constexpr std::uint64_t most_quad_bytes = 32;
/// What a work-item reads of one operand before it uses the first, as for map().
constexpr std::uint32_t bytes_of_item = 32;
constexpr std::size_t most_unrolled = 128;
/// Inputs that are read that far ahead: more are enough by themselves, and take the registers.
constexpr std::size_t most_ahead = 3;

/// A buffer of a launch, from where its first operand starts.
struct BoundBuffer {
  DeviceBuffer* buffer;
  std::uint64_t first, past;
  DType dtype;
  bool writable;
};

/// Whether elements of both can be in one array of WGSL.
bool are_alike(DType a, DType b) {
  return size_of(a) == size_of(b) && (size_of(a) < 8 || class_of(a) == class_of(b));
}

}  // namespace

/// Groups that one launch takes together, and what it binds for them.
struct GroupLaunch {
  struct Limits {
    std::size_t bindings, params_bytes;
    std::uint64_t binding_bytes, alignment;
  };

  GroupLaunch(const MapManyRequest& r, const std::vector<bool>& needed, const Limits& most)
      : request(r),
        limits(most),
        operands(r.operands.size() / r.lengths.size()),
        used(operands, true) {
    for (std::size_t i = 0; i < r.program->inputs.size(); ++i)
      used[i] = needed[r.program->inputs[i]];
  }

  /// False, with nothing changed, where the launch does not take this one too.
  bool add(std::size_t group) {
    if (groups.size() == most_groups || request.lengths[group] > most_elements) return false;
    std::vector<BoundBuffer> grown = bound;
    for (std::size_t o = 0; o < operands; ++o) {
      if (used[o] && !add_operand(grown, group, o)) return false;
    }
    if (grown.size() + (may_need_buffer(groups.size() + 1) ? 1 : 0) > limits.bindings) return false;
    bound = std::move(grown);
    groups.push_back(group);
    return true;
  }
  void clear() {
    bound.clear();
    groups.clear();
  }

  DType dtype(std::size_t o) const { return operand_dtype(*request.program, o); }
  std::uint64_t start_of(std::size_t group, std::size_t o) const {
    return bytes_of(request.operands[group * operands + o].offset, dtype(o));
  }
  std::size_t binding_of(std::size_t group, std::size_t o) const {
    const DeviceBuffer* const buffer =
        &buffer_of(request.operands[group * operands + o].allocation);
    const auto found = std::ranges::find(bound, buffer, &BoundBuffer::buffer);
    return static_cast<std::size_t>(found - bound.begin());
  }

  const MapManyRequest& request;
  const Limits limits;
  const std::size_t operands;  // of a group
  std::vector<bool> used;      // operands that have a binding
  std::vector<std::size_t> groups;
  std::vector<BoundBuffer> bound;

 private:
  bool add_operand(std::vector<BoundBuffer>& all, std::size_t group, std::size_t o) const {
    const std::uint64_t start = start_of(group, o);
    if (start % (4 * size_of(dtype(o))) != 0) return false;  // no whole quads
    const std::uint64_t first = start / limits.alignment * limits.alignment;
    const std::uint64_t past = start + bytes_of(request.lengths[group], dtype(o));
    const bool is_output = o >= request.program->inputs.size();
    DeviceBuffer* const buffer = &buffer_of(request.operands[group * operands + o].allocation);
    const auto found = std::ranges::find(all, buffer, &BoundBuffer::buffer);
    if (found == all.end()) {
      all.push_back({buffer, first, past, dtype(o), is_output});
      return past - first <= limits.binding_bytes - most_quad_bytes;
    }
    found->first = std::min(found->first, first);
    found->past = std::max(found->past, past);
    found->writable = found->writable || is_output;
    return are_alike(found->dtype, dtype(o)) &&
           found->past - found->first <= limits.binding_bytes - most_quad_bytes;
  }
  bool may_need_buffer(std::size_t count) const {
    const std::size_t words = count * (2 + operands) + number_words(*request.program);
    return words * sizeof(std::uint32_t) > limits.params_bytes;
  }
};

namespace {

/// A group as map() has it.
MapRequest as_map(const MapManyRequest& r, std::size_t group) {
  const std::size_t count = r.operands.size() / r.lengths.size(), inputs = r.program->inputs.size();
  MapRequest one;
  one.program = r.program;
  one.n = r.lengths[group];
  one.rank = 1;
  const auto operands = std::span(r.operands).subspan(group * count, count);
  one.operands.assign(operands.begin(), operands.end());
  one.sizes.assign(1 + count, 1);
  one.sizes[0] = one.n;
  one.numbers = r.numbers;
  const auto same = std::span(r.same_as).subspan(group * inputs, inputs);
  one.same_as.assign(same.begin(), same.end());
  return one;
}

std::uint8_t vectors_of(const GroupLaunch& launch) {
  std::size_t largest = 1, read = 0;
  for (std::size_t o = 0; o < launch.operands; ++o) {
    if (!launch.used[o]) continue;
    largest = std::max(largest, size_of(launch.dtype(o)));
    read += o < launch.request.program->inputs.size() ? 1 : 0;
  }
  if (read > most_ahead) return 1;
  const std::size_t vectors = bytes_of_item / (4 * largest);
  const std::size_t values = launch.request.program->nodes.size();
  return vectors * values > most_unrolled ? 1 : static_cast<std::uint8_t>(vectors);
}

}  // namespace

void GpuBackend::launch_map_many(const MapManyRequest& r) {
  const std::vector<bool> needed = r.program->needed();
  require_dtypes("map_many", *r.program, needed);
  const DeviceLimits& limits = device_->limits();
  GroupLaunch launch(
      r, needed, {limits.max_bindings, limits.max_params_bytes, window_bytes(), place_alignment()});
  const auto send = [&] {
    if (launch.groups.size() == 1) launch_map(as_map(r, launch.groups[0]));
    if (launch.groups.size() > 1) launch_groups(r, launch);
    launch.clear();
  };
  for (std::size_t g = 0; g < r.lengths.size(); ++g) {
    if (launch.add(g)) continue;
    // What cannot be with others at all leaves those that can be together.
    GroupLaunch alone(r, needed, launch.limits);
    if (!alone.add(g)) {
      launch_map(as_map(r, g));
      continue;
    }
    send();
    launch.add(g);
  }
  send();
}

void GpuBackend::launch_groups(const MapManyRequest& r, const GroupLaunch& launch) {
  const DeviceLimits& limits = device_->limits();
  const std::size_t count = launch.groups.size();
  std::vector<Binding> bindings;
  bindings.reserve(launch.bound.size() + 1);
  for (const BoundBuffer& one : launch.bound) {
    const std::uint64_t bytes = std::min(one.buffer->bytes() - one.first, window_bytes());
    bindings.push_back({one.buffer, one.first, bytes});
  }
  ProgramForm form;
  form.group = elementwise_group_;
  form.vectors = vectors_of(launch);
  form.groups = static_cast<std::uint32_t>(count);
  form.operands.resize(count * launch.operands);
  std::vector<std::uint32_t> starts(form.operands.size());
  for (std::size_t i = 0; i < form.operands.size(); ++i) {
    const std::size_t group = launch.groups[i / launch.operands], o = i % launch.operands;
    if (!launch.used[o]) continue;
    const std::size_t binding = launch.binding_of(group, o);
    starts[i] = static_cast<std::uint32_t>(
        (launch.start_of(group, o) - launch.bound[binding].first) / size_of(launch.dtype(o)));
    form.starts = form.starts || starts[i] != 0;
    form.operands[i] = {Walk::quads, static_cast<std::uint8_t>(binding),
                        launch.bound[binding].writable};
  }
  const std::uint64_t of_group = std::uint64_t{4} * form.group * form.vectors;
  std::uint64_t groups = 0;
  std::vector<std::uint32_t> params;
  params.reserve(params_words(*r.program, form));
  for (std::size_t g = 0; g < count; ++g) {
    const Size length = r.lengths[launch.groups[g]];
    params.push_back(static_cast<std::uint32_t>(groups));
    params.push_back(u32(length));
    groups += (static_cast<std::uint64_t>(length) + of_group - 1) / of_group;
    for (std::size_t o = 0; form.starts && o < launch.operands; ++o) {
      if (launch.used[o]) params.push_back(starts[g * launch.operands + o]);
    }
  }
  for (std::size_t i = 0; i < r.numbers.size(); ++i) {
    const DType dtype = r.program->nodes[r.program->numbers[i]].dtype;
    const std::uint64_t bits = class_bits(dtype, r.numbers[i]);
    params.push_back(static_cast<std::uint32_t>(bits));
    if (number_words(dtype) == 2) params.push_back(static_cast<std::uint32_t>(bits >> 32));
  }
  AllocationRef params_buffer;
  if (params.size() * sizeof(std::uint32_t) > limits.max_params_bytes) {
    form.params_in_buffer = true;
    const auto bytes = std::as_bytes(std::span(params));
    params_buffer = memory_->written_once("map_many", bytes.size());
    DeviceBuffer& buffer = buffer_of(params_buffer);
    memory_->with_room([&] { device_->upload(buffer, 0, bytes); });
    bindings.push_back({&buffer, 0, bytes.size()});
    params.clear();
  }
  const auto pipeline = program_pipeline(r.program, form);
  device_->launch({pipeline.get(), bindings, std::as_bytes(std::span(params)),
                   row_grid(groups, limits.max_groups)});
}

}  // namespace tilewright::gpu
