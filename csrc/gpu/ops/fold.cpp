#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/program/program_data.hpp"
#include "core/text.hpp"
#include "gpu/backend.hpp"
#include "gpu/fold_bindings.hpp"
#include "gpu/ops/fold_plan.hpp"
#include "gpu/plan.hpp"
#include "gpu/text/fold_moments.hpp"
#include "gpu/text/program_form.hpp"
#include "tilewright/error.hpp"

// Reductions and scans of programs: which launches they are.
namespace tilewright::gpu {

namespace {

/// Work-items count elements in 32 bits, with some room.
constexpr Size most_elements = Size{1} << 31;

/// Where operands stand in a request.
struct Parts {
  explicit Parts(const FoldRequest& r)
      : inputs(r.front->inputs.size()),
        others(r.behind ? r.behind->inputs.size() - r.found() : 0),
        outputs(r.operands.size() - inputs - others) {}
  std::size_t inputs, others, outputs;
};

DType dtype_at(const FoldRequest& r, std::size_t o) {
  const Parts parts(r);
  if (o < parts.inputs) return r.front->nodes[r.front->inputs[o]].dtype;
  if (o < parts.inputs + parts.others) {
    return r.behind->nodes[r.behind->inputs[o - parts.inputs + r.found()]].dtype;
  }
  return r.behind->output_dtype(o - parts.inputs - parts.others);
}
bool is_used(const FoldRequest& r, std::size_t o, const std::vector<bool>& front,
             const std::vector<bool>& behind) {
  const Parts parts(r);
  if (o < parts.inputs) return front[r.front->inputs[o]];
  if (o < parts.inputs + parts.others)
    return behind[r.behind->inputs[o - parts.inputs + r.found()]];
  return true;
}

Reach reach_of(const FoldRequest& r, const FoldRegion& region, std::size_t operand) {
  return Reach(region.shape, r.strides(operand));
}

/// Both parts of a region that is cut in a dimension.
std::array<FoldRegion, 2> cut(const FoldRequest& r, const FoldRegion& region, std::size_t d) {
  constexpr Size coarse = 1024;
  Size half = region.shape[d] / 2;
  if (half > coarse) half = half / coarse * coarse;
  std::array<FoldRegion, 2> parts{region, region};
  parts[0].shape[d] = half;
  parts[1].shape[d] -= half;
  for (std::size_t o = 0; o < region.offsets.size(); ++o) {
    parts[1].offsets[o] += half * r.strides(o)[d];
  }
  if (d >= r.kept) parts[1].place += half * product(std::span(region.shape).subspan(d + 1));
  return parts;
}

}  // namespace

void GpuBackend::run_op(OpId id, std::string_view op, const FoldRequest& r,
                        void (GpuBackend::*launch)(const FoldRequest&)) {
  std::array<OperandPlace, LaunchPlan::most_bindings> places;
  if (r.operands.size() > places.size()) return (this->*launch)(r);
  PlanKey key(static_cast<std::uint64_t>(id));
  key.add(r.op);
  key.add(r.exclusive);
  key.add(r.front->hash);
  key.add(r.behind->hash);
  key.add(r.kept);
  key.add(r.rank);
  for (const Size size : r.sizes) key.add(size);
  for (const auto* numbers : {&r.numbers, &r.behind_numbers}) {
    for (const std::uint64_t bits : *numbers) key.add(bits);
  }
  const auto used =
      add_places(key, places, r.operands, [&](std::size_t o) { return dtype_at(r, o); });
  run_planned(op, key, used, {}, std::array{r.front, r.behind}, [&] { (this->*launch)(r); });
}

void GpuBackend::launch_map_reduce(const FoldRequest& r) {
  require_dtypes(r.call, *r.front, r.front->needed());
  require_dtypes(r.call, *r.behind, r.behind->needed());
  FoldRegion all{{r.shape().begin(), r.shape().end()}, {}, 0};
  for (const MapRequest::Operand& operand : r.operands) all.offsets.push_back(operand.offset);
  fold_region(r, all);
}

void GpuBackend::launch_scan(const FoldRequest& r) { launch_map_reduce(r); }

void GpuBackend::fold_region(const FoldRequest& r, const FoldRegion& region) {
  const std::uint64_t most = window_bytes();
  const std::uint64_t alignment = place_alignment();
  const std::vector<bool> front = r.front->needed(), behind = r.behind->needed();
  // The dimension to cut so that a part fits, or none.
  const auto dimension = [&](const FoldRegion& part) -> std::optional<std::size_t> {
    std::optional<std::size_t> widest;
    Size reach_of_widest = 0;
    const auto look = [&](const auto& width) {
      for (std::size_t d = 0; d < r.rank; ++d) {
        if (part.shape[d] == 1 || width(d) <= reach_of_widest) continue;
        reach_of_widest = width(d);
        widest = d;
      }
    };
    for (std::size_t o = 0; o < r.operands.size() && !widest; ++o) {
      if (!is_used(r, o, front, behind)) continue;
      const std::uint64_t size = size_of(dtype_at(r, o));
      const Reach reach = reach_of(r, part, o);
      const auto first = static_cast<std::uint64_t>(part.offsets[o] - reach.before) * size;
      const auto past = static_cast<std::uint64_t>(part.offsets[o] + reach.behind + 1) * size;
      if (past - first / alignment * alignment <= most - most_quad_bytes) continue;
      look([&](std::size_t d) { return (part.shape[d] - 1) * magnitude(r.strides(o)[d]); });
    }
    const Size results = results_of(r, part), length = length_of(r, part);
    if (!widest && (results > most_elements || length > most_elements)) {
      look([&](std::size_t d) {
        return (d < r.kept) == (results > most_elements) ? part.shape[d] : 0;
      });
    }
    return widest;
  };
  std::vector<FoldRegion> waiting{region}, parts;
  while (!waiting.empty()) {
    FoldRegion next = std::move(waiting.back());
    waiting.pop_back();
    const auto d = dimension(next);
    if (!d) {
      parts.push_back(std::move(next));
      continue;
    }
    const std::array<FoldRegion, 2> halves = cut(r, next, *d);
    const bool whole = waiting.empty() && parts.empty();
    if (*d < r.kept && whole) {
      fold_region(r, halves[0]);
      fold_region(r, halves[1]);
      return;
    }
    // Places count through all dimensions, so only the outermost one can be cut.
    bool outermost = true;
    for (std::size_t outer = r.kept; outer < *d; ++outer) outermost &= next.shape[outer] == 1;
    if (r.scan || *d < r.kept || (r.finds_place() && !outermost)) {
      throw Unsupported(text(r.call, ": an argument of more than ", most, " bytes, which is what ",
                             "one binding of ", device_->info().name,
                             " holds, that is not reduced along its outermost axis; split the "
                             "work into smaller calls"));
    }
    waiting.push_back(halves[1]);
    waiting.push_back(halves[0]);
  }
  if (r.scan) return scan_region(r, parts[0]);
  reduce_region(r, parts);
}

void GpuBackend::reduce_region(const FoldRequest& r, const std::vector<FoldRegion>& given,
                               bool may_widen) {
  std::vector<FoldRegion> parts = given;
  const Size together = may_widen && given.size() == 1 ? rows_as_one(r, given[0]) : 1;
  FoldRequest wide;
  if (together > 1) {
    std::tie(wide, parts[0]) = as_one(r, given[0], together);
    FoldRegion rest = given[0];
    for (std::size_t o = 0; o < r.front->inputs.size(); ++o) {
      rest.offsets[o] += together * parts[0].shape[1] * r.strides(o)[1];
    }
    rest.shape[1] -= together * parts[0].shape[1];
    if (rest.shape[1] > 0) parts.push_back(std::move(rest));
  }
  const auto request = [&](std::size_t i) -> const FoldRequest& {
    return together > 1 && i == 0 ? wide : r;
  };
  const Size results = results_of(r, given[0]);
  const DType value = dtype_of(class_of(r.front->output_dtype()));
  const Size group = std::bit_floor(elementwise_group_);
  const Size units = device_->limits().planned_units;
  std::vector<FoldStep> steps;
  Size count = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const FoldRequest& of = request(i);
    const Size side_by_side = results_of(of, parts[i]);
    FoldStep step =
        plan_reduction(walks_rows(of, parts[i]), r.op, side_by_side, length_of(of, parts[i]), group,
                       units, together > 1 ? enough_of_rows_as_one(r.op) : enough_to_reduce);
    step.first_part = count;
    count += step.pieces * (side_by_side / results);
    steps.push_back(std::move(step));
  }
  AllocationRef values, places;
  const auto numbers = static_cast<Size>(r.op == Reduction::moments ? Moments::numbers : 1);
  const auto bytes = [&](DType dtype) { return bytes_of(count * results * numbers, dtype); };
  const auto take = [&](bool must) {
    const auto scratch = [&](std::uint64_t size) {
      return must ? memory_->scratch(r.call, size) : memory_->try_scratch(r.call, size);
    };
    values = scratch(bytes(value));
    if (values && r.finds_place()) places = scratch(bytes(DType::uint32));
    return values && (places || !r.finds_place());
  };
  const bool is_bound = bytes(value) <= window_bytes();
  if (!is_bound && given.size() > 1) {
    throw Unsupported(text(r.call, ": ", count, " parts of ", results, " results are ",
                           bytes(value), " bytes, and one binding of ", device_->info().name,
                           " holds ", window_bytes(), "; split the work into smaller calls"));
  }
  if (count > 1 && (!is_bound || !take(given.size() > 1))) {
    if (together > 1) return reduce_region(r, given, false);
    // Without room for parts each result is made in one piece.
    steps[0].pieces = 1;
    steps[0].piece = rounded_up(length_of(r, parts[0]), quad);
    count = 1;
  }
  if (count == 1) return launch_fold(r, parts[0], steps[0]);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    steps[i].leaves_parts = true;
    steps[i].to = values;
    steps[i].to_places = places;
    launch_fold(request(i), parts[i], steps[i]);
  }
  FoldStep last =
      plan_reduction(results == 1, r.op, results, count, group, units, enough_to_reduce);
  last.pieces = 1;
  last.piece = rounded_up(count, quad);
  last.takes_parts = true;
  last.from = values;
  last.from_places = places;
  FoldRegion joined = given[0];
  joined.place = count;
  launch_fold(r, joined, last);
}

void GpuBackend::scan_region(const FoldRequest& r, const FoldRegion& region) {
  const Size results = results_of(r, region), length = length_of(r, region);
  const bool rows = walks_rows(r, region);
  const Size group = std::bit_floor(elementwise_group_);
  const Size units = device_->limits().planned_units;
  FoldStep step = plan_scan(rows, results, length, group, units);
  step.exclusive = r.exclusive;
  const std::uint64_t bytes =
      bytes_of(step.pieces * results, dtype_of(class_of(r.front->output_dtype())));
  AllocationRef totals, before;
  if (step.pieces > 1) {
    totals = memory_->try_scratch(r.call, bytes);
    if (totals) before = memory_->try_scratch(r.call, bytes);
  }
  if (!before) {
    step.pieces = 1;
    step.piece = rounded_up(length, quad);
    return launch_fold(r, region, step);
  }
  FoldStep first = step;
  first.scan = false;
  first.leaves_parts = true;
  first.to = totals;
  launch_fold(r, region, first);
  FoldStep between = plan_scan(results == 1, results, step.pieces, group, units);
  between.pieces = 1;
  between.piece = rounded_up(step.pieces, quad);
  between.exclusive = true;
  between.takes_parts = true;
  between.leaves_parts = true;
  between.from = totals;
  between.to = before;
  FoldRegion joined = region;
  joined.place = step.pieces;
  launch_fold(r, joined, between);
  step.carry = before;
  launch_fold(r, region, step);
}

bool GpuBackend::binds_params(std::string_view call, std::span<const std::uint32_t> params,
                              std::vector<Binding>& bindings, AllocationRef& held) {
  const DeviceLimits& limits = device_->limits();
  const std::span<const std::byte> bytes = std::as_bytes(params);
  const bool in_buffer = bytes.size() > limits.max_params_bytes;
  const std::size_t count = bindings.size() + (in_buffer ? 1 : 0);
  if (count > limits.max_bindings) {
    throw Unsupported(text(call, ": the programs' inputs and outputs, with what lies between ",
                           "them, are ", count, " buffers, but a kernel of ", device_->info().name,
                           " takes ", limits.max_bindings, "; run it in several parts"));
  }
  if (!in_buffer) return false;
  held = memory_->written_once(call, bytes.size());
  DeviceBuffer& buffer = buffer_of(held);
  memory_->with_room([&] { device_->upload(buffer, 0, bytes); });
  bindings.push_back({&buffer, 0, bytes.size()});
  return true;
}

void GpuBackend::launch_fold(const FoldRequest& r, const FoldRegion& region, const FoldStep& step) {
  const DeviceLimits& limits = device_->limits();
  const std::uint64_t most = window_bytes();
  const Parts parts(r);
  const DType value = dtype_of(class_of(r.front->output_dtype()));
  const ProgramRef front = step.takes_parts ? identity_program(value) : r.front;
  const std::vector<bool> front_needed = r.front->needed(), behind_needed = r.behind->needed();

  auto form = std::make_shared<FoldForm>();
  form->op = r.op;
  form->identity_of = r.scan ? r.behind->output_dtype() : value;
  form->scan = step.scan;
  form->exclusive = step.scan && step.exclusive;
  form->rows = step.rows;
  form->leaves_parts = step.leaves_parts;
  form->takes_parts = step.takes_parts;
  form->carried = step.carry != nullptr;
  form->kept = static_cast<std::uint8_t>(r.kept);
  form->reduced = static_cast<std::uint8_t>(step.takes_parts ? 0 : r.rank - r.kept);
  form->walkers = step.walkers;
  form->unroll = step.unroll;
  form->group = step.group;
  if (!step.leaves_parts) form->behind = r.behind;

  FoldBindings given(limits, most, region.shape, r.kept);
  std::vector<Binding>& bindings = given.bindings;
  if (!step.leaves_parts) {
    for (std::size_t o = parts.inputs + parts.others; o < r.operands.size(); ++o) {
      given.writes(buffer_of(r.operands[o].allocation));
    }
  }
  const auto bind = [&](std::size_t o, bool whole, bool output) {
    return given.add(buffer_of(r.operands[o].allocation), dtype_at(r, o), region.offsets[o],
                     r.strides(o), whole, output);
  };
  const auto bind_parts = [&](const AllocationRef& scratch, DType dtype, bool output) {
    DeviceBuffer& buffer = buffer_of(scratch);
    const auto binding = static_cast<std::uint8_t>(bindings.size());
    bindings.push_back({&buffer, 0, std::min(buffer.bytes(), most)});
    return FoldOperand{dtype, FoldWalk::parts, binding, output};
  };

  if (step.takes_parts) {
    form->inputs.push_back(bind_parts(step.from, value, false));
  } else {
    for (std::size_t i = 0; i < parts.inputs; ++i) {
      const bool used = is_used(r, i, front_needed, behind_needed);
      form->inputs.push_back(used ? bind(i, true, false) : FoldOperand{});
    }
  }
  if (step.leaves_parts) {
    form->outputs.push_back(bind_parts(step.to, value, true));
    if (r.finds_place()) form->outputs.push_back(bind_parts(step.to_places, DType::uint32, true));
  } else {
    for (std::size_t o = parts.inputs; o < parts.inputs + parts.others; ++o) {
      const bool used = is_used(r, o, front_needed, behind_needed);
      form->others.push_back(used ? bind(o, r.scan, false) : FoldOperand{});
    }
    for (std::size_t o = parts.inputs + parts.others; o < r.operands.size(); ++o) {
      form->outputs.push_back(bind(o, r.scan, true));
    }
  }
  if (step.takes_parts && r.finds_place()) {
    form->parts.push_back(bind_parts(step.from_places, DType::uint32, false));
  }
  if (step.carry) form->parts.push_back(bind_parts(step.carry, value, false));

  const Size results = results_of(r, region);
  const Size length = step.takes_parts ? region.place : length_of(r, region);
  const Size blocks = groups_of(results, form->group / form->walkers);
  std::vector<std::uint32_t> params{u32(results),         u32(length),
                                    u32(step.piece),      u32(blocks),
                                    u32(step.first_part), u32(step.takes_parts ? 0 : region.place)};
  for (std::size_t d = 0; d < static_cast<std::size_t>(form->kept + form->reduced); ++d) {
    params.push_back(u32(region.shape[d]));
  }
  params.insert(params.end(), given.strided.begin(), given.strided.end());
  if (!step.takes_parts) append_numbers(params, *r.front, r.numbers);
  if (form->behind) append_numbers(params, *r.behind, r.behind_numbers);

  AllocationRef params_buffer;
  form->params_in_buffer = binds_params(r.call, params, bindings, params_buffer);
  const std::span<const std::byte> immediate =
      form->params_in_buffer ? std::span<const std::byte>() : std::as_bytes(std::span(params));
  ProgramForm kept;
  kept.fold = form;
  const auto pipeline = program_pipeline(front, kept);
  device_->launch({pipeline.get(), bindings, immediate,
                   row_grid(static_cast<std::uint64_t>(blocks) *
                                static_cast<std::uint64_t>(groups_of(length, step.piece)),
                            limits.max_groups)});
}

}  // namespace tilewright::gpu
