#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "core/row_parts.hpp"
#include "gpu/backend.hpp"
#include "gpu/fold_bindings.hpp"
#include "gpu/plan.hpp"
#include "gpu/text/program_form.hpp"

// Rows that one launch reduces and maps.
namespace tilewright::gpu {

namespace {

constexpr Size most_elements = Size{1} << 31;
/// Fours that a walker reads once and keeps, and those that it has rather than a neighbour.
constexpr Size most_kept = 8, depth = 4;
/// Neighbouring columns that make whole reads of memory.
constexpr Size columns_side_by_side = 32, walkers_side_by_side = 8;
/// Fours of a row of which a walker has fewer where it reads them one by one.
constexpr Size short_row = 256;
/// Rows of so many elements are walked by several workgroups where they are fewer than that; of
/// more elements where workgroups are larger, since each launch takes its time.
constexpr Size long_row = 1 << 14, longer_row = 1 << 16, enough_rows = 128;

std::vector<std::pair<const ProgramRef*, const std::vector<std::uint64_t>*>> programs_of(
    const RowsRequest& r) {
  std::vector<std::pair<const ProgramRef*, const std::vector<std::uint64_t>*>> all;
  for (const RowsRequest::Step& fold : r.folds) all.emplace_back(&fold.program, &fold.numbers);
  for (const RowsRequest::Step* step : {&r.elements, &r.ends}) {
    if (step->program) all.emplace_back(&step->program, &step->numbers);
  }
  return all;
}

/// For each input, whether some program needs it.
std::vector<bool> used_inputs(const RowsRequest& r) {
  std::vector<bool> used(r.inputs);
  const auto look = [&](const ProgramData& program) {
    const std::vector<bool> needed = program.needed();
    for (std::size_t i = 0; i < r.inputs; ++i) {
      used[i] = used[i] || needed[program.inputs[i]];
    }
  };
  for (const RowsRequest::Step& fold : r.folds) look(*fold.program);
  if (r.elements.program) look(*r.elements.program);
  return used;
}

/// Whether neighbouring elements of a row lie closer than those of neighbouring rows.
bool walks_rows(const RowsRequest& r) {
  if (r.kept == 0 || r.shape()[r.kept - 1] == 1) return true;
  if (r.kept == r.rank) return false;
  for (std::size_t o = 0; o < r.inputs; ++o) {
    const Size kept = magnitude(r.strides(o)[r.kept - 1]);
    const Size along = magnitude(r.strides(o)[r.rank - 1]);
    if (kept != along) return kept == 0 || (along != 0 && along < kept);
  }
  return true;
}

/// The largest workgroup that walks a row. Registers of SPIR-V's compilers are fewer, so there it
/// is the usual one.
Size largest_group(KernelLanguage language, std::uint32_t of_device, std::uint32_t usual) {
  constexpr Size largest = 1024;
  if (language != KernelLanguage::wgsl || usual != group_size) return usual;
  return std::min<Size>(std::bit_floor(of_device), largest);
}

/// How many work-items walk a row, and how many fours each of them has.
void plan_walk(const RowsRequest& r, std::size_t whole_inputs, Size largest, RowsForm& form) {
  const Size fours = groups_of(r.length, quad);
  auto group = static_cast<Size>(form.group);
  Size kept = whole_inputs <= 2 ? most_kept : depth;
  const bool grows = form.by_rows && largest > group;
  // Larger workgroups where a row is long: what they keep is not read again, and fewer rows are on
  // their way at once, so that caches hold their other elements.
  while (grows && group < largest && fours > group * kept) group *= 2;
  if (group > 2 * group_size) kept /= 2;
  form.group = static_cast<std::uint32_t>(group);
  const Size most =
      form.by_rows ? group : group / std::min({bit_ceil(r.results), columns_side_by_side, group});
  // So many read memory side by side, also where one could hold a row.
  const Size least = form.by_rows ? std::min(bit_ceil(fours), walkers_side_by_side) : 1;
  const Size own = form.by_rows && form.apart && fours <= short_row ? depth / 2 : depth;
  const Size walkers = std::min(std::max(bit_ceil(groups_of(fours, own)), least), most);
  const Size each = groups_of(fours, walkers);
  form.walkers = static_cast<std::uint16_t>(walkers);
  form.kept_reads = each <= kept || (grows && walkers == group);
  const Size variables = r.folds.size() <= 2 ? 4 : r.folds.size() <= 4 ? 2 : 1;
  form.unroll = static_cast<std::uint16_t>(form.kept_reads ? std::min(each, kept) : variables);
}

/// Takes out of folds and of elements what is the same for all of a row. Gives the numbers of each.
std::vector<const std::vector<std::uint64_t>*> split_steps(const RowsRequest& r, RowsForm& form) {
  std::vector<const std::vector<std::uint64_t>*> numbers;
  const auto split = [&](ProgramRef& program, const RowsRequest::Step& step) {
    std::vector<bool> same(program->inputs.size(), true);
    for (std::size_t i = 0; i < r.inputs; ++i) same[i] = form.inputs[i].walk == FoldWalk::row;
    const SplitProgram parts = split_program(program, same);
    form.before.push_back(parts.before);
    numbers.push_back(&step.numbers);
    if (parts.rest) program = parts.rest;
  };
  for (std::size_t i = 0; i < r.folds.size(); ++i) split(form.folds[i], r.folds[i]);
  if (form.elements) split(form.elements, r.elements);
  return numbers;
}

}  // namespace

void GpuBackend::run_op(OpId id, std::string_view op, const RowsRequest& r,
                        void (GpuBackend::*launch)(const RowsRequest&)) {
  std::array<OperandPlace, LaunchPlan::most_bindings> places;
  if (r.operands.size() > places.size()) return (this->*launch)(r);
  PlanKey key(static_cast<std::uint64_t>(id));
  std::vector<ProgramRef> programs;
  for (const RowsRequest::Step& fold : r.folds) key.add(fold.op);
  for (const auto& [program, numbers] : programs_of(r)) {
    programs.push_back(*program);
    key.add((*program)->hash);
    for (const std::uint64_t bits : *numbers) key.add(bits);
  }
  key.add(r.elements.program != nullptr);
  key.add(r.inputs);
  key.add(r.kept);
  key.add(r.rank);
  for (const Size size : r.sizes) key.add(size);
  const auto used =
      add_places(key, places, r.operands, [&](std::size_t o) { return r.dtype_at(o); });
  run_planned(op, key, used, {}, programs, [&] { (this->*launch)(r); });
}

void GpuBackend::launch_map_rows(const RowsRequest& r) {
  for (const auto& [program, numbers] : programs_of(r)) {
    require_dtypes(r.call, **program, (*program)->needed());
  }
  if (launch_rows(r)) return;
  const auto values =
      static_cast<std::uint64_t>(r.folds.size()) * static_cast<std::uint64_t>(r.results);
  const AllocationRef found = memory_->scratch(r.call, values * size_of(r.found()));
  for (std::size_t i = 0; i < r.folds.size(); ++i) launch_map_reduce(fold_of(r, i, found));
  if (r.elements.program) launch_map(elements_of(r, found));
  if (r.ends.program) launch_map(ends_of(r, found));
}

bool GpuBackend::launch_rows(const RowsRequest& r) {
  const DeviceLimits& limits = device_->limits();
  const bool few = r.results < filling(enough_rows, limits.planned_units);
  const Size largest =
      largest_group(device_->language(), limits.max_group_size, std::bit_floor(elementwise_group_));
  const Size too_long = largest > group_size ? longer_row : long_row;
  if (r.results > most_elements || r.length > most_elements || (few && r.length > too_long)) {
    return false;
  }
  const std::uint64_t most = window_bytes();
  const std::vector<bool> used = used_inputs(r);
  std::size_t count = 0;
  for (std::size_t o = 0; o < r.operands.size(); ++o) {
    if (o < r.inputs && !used[o]) continue;
    ++count;
    const Reach reach(r.shape(), r.strides(o));
    const auto bytes =
        static_cast<std::uint64_t>(reach.before + reach.behind + 1) * size_of(r.dtype_at(o));
    if (bytes > most - 2 * std::max<std::uint64_t>(limits.binding_alignment, most_quad_bytes)) {
      return false;
    }
  }
  // One more than the operands is what parameters may take.
  if (count + 1 > limits.max_bindings) return false;

  auto form = std::make_shared<RowsForm>();
  for (const RowsRequest::Step& fold : r.folds) {
    form->ops.push_back(fold.op);
    form->folds.push_back(fold.program);
  }
  form->elements = r.elements.program;
  form->ends = r.ends.program;
  form->kept = static_cast<std::uint8_t>(r.kept);
  form->reduced = static_cast<std::uint8_t>(r.rank - r.kept);
  form->group = static_cast<std::uint32_t>(std::bit_floor(elementwise_group_));

  form->by_rows = walks_rows(r);

  FoldBindings given(limits, most, r.shape(), r.kept);
  for (std::size_t o = r.inputs; o < r.operands.size(); ++o) {
    given.writes(buffer_of(r.operands[o].allocation));
  }
  bool all_quads = true;
  std::size_t whole_inputs = 0;
  for (std::size_t o = 0; o < r.operands.size(); ++o) {
    const bool is_input = o < r.inputs, is_end = o >= r.inputs + r.outputs;
    auto& list = is_input ? form->inputs : is_end ? form->end_outputs : form->outputs;
    if (is_input && !used[o]) {
      list.emplace_back();
      continue;
    }
    const auto along_row = r.strides(o).subspan(r.kept);
    const bool of_row =
        is_input && std::ranges::all_of(along_row, [](Size stride) { return stride == 0; });
    FoldOperand operand =
        given.add(buffer_of(r.operands[o].allocation), r.dtype_at(o), r.operands[o].offset,
                  r.strides(o), !of_row && !is_end, !is_input);
    if (of_row) operand.walk = FoldWalk::row;
    // Neighbours at one place are read once beside quads.
    const bool same = is_input && !of_row && along_row.back() == 0 && r.shape().back() % quad == 0;
    if (!of_row && !is_end) all_quads = all_quads && (same || operand.walk == FoldWalk::quads);
    whole_inputs += is_input && !of_row && !same;
    list.push_back(operand);
  }
  form->apart = !all_quads;
  for (auto* list : {&form->inputs, &form->outputs}) {
    for (FoldOperand& operand : *list) {
      if (!all_quads && operand.walk == FoldWalk::quads) operand.walk = FoldWalk::places;
    }
  }
  plan_walk(r, whole_inputs, largest, *form);
  const std::vector<const std::vector<std::uint64_t>*> before_numbers = split_steps(r, *form);

  std::vector<std::uint32_t> params{u32(r.results), u32(r.length)};
  for (const Size size : r.shape()) params.push_back(u32(size));
  params.insert(params.end(), given.strided.begin(), given.strided.end());
  for (const auto& [program, numbers] : programs_of(r)) {
    append_numbers(params, **program, *numbers);
  }
  for (std::size_t i = 0; i < form->before.size(); ++i) {
    if (form->before[i]) append_numbers(params, *form->before[i], *before_numbers[i]);
  }
  AllocationRef params_buffer;
  form->params_in_buffer = binds_params(r.call, params, given.bindings, params_buffer);
  const std::span<const std::byte> immediate =
      form->params_in_buffer ? std::span<const std::byte>() : std::as_bytes(std::span(params));
  const Size blocks = groups_of(r.results, form->group / form->walkers);
  ProgramForm kept;
  kept.in_rows = form;
  const auto pipeline = program_pipeline(form->folds[0], kept);
  device_->launch({pipeline.get(), given.bindings, immediate,
                   row_grid(static_cast<std::uint64_t>(blocks), limits.max_groups)});
  return true;
}

}  // namespace tilewright::gpu
