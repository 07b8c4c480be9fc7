#include "cpu/ops/fold.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/chunks.hpp"
#include "cpu/elements.hpp"
#include "cpu/ops/reducer.hpp"
#include "cpu/program/run.hpp"
#include "cpu/scratch.hpp"

namespace tilewright::cpu {

namespace {

/// Results that are there before the program behind runs on them.
constexpr std::size_t slab_results = std::size_t{1} << 16;
constexpr std::size_t least_chunk_of_columns = 4096;

Cut cut_of(const FoldRequest& r) {
  const auto n = static_cast<std::size_t>(r.length);
  const std::size_t inner = r.kept > 0 ? static_cast<std::size_t>(r.shape()[r.kept - 1]) : 1;
  Cut c{};
  // Narrow columns are walked where nothing is computed of them first.
  c.columns = walks_columns(r, reads_plainly(r) && r.rank - r.kept == 1 ? 2 : 16);
  c.length = n;
  c.inner = c.columns ? inner : 1;
  c.outer = static_cast<std::size_t>(r.results) / c.inner;
  c.width = std::min(c.inner, program_block);
  c.units = c.outer * c.units_of_row();
  if (c.columns) {
    c.chunk = std::max(least_chunk_of_columns, (n + Chunks::most - 1) / Chunks::most);
  } else {
    c.chunk = Chunks(n).size;
  }
  c.chunks = (n + c.chunk - 1) / c.chunk;
  return c;
}

/// What is found in chunks, joined in their order.
void join_chunks(const FoldRequest& r, const Joiner& joiner, std::byte* values,
                 std::uint32_t* places, std::size_t chunks, std::size_t stride, std::size_t width) {
  for (std::size_t chunk = 1; chunk < chunks; ++chunk) {
    std::byte* const next = values + chunk * stride * joiner.size;
    if (!r.finds_place()) {
      joiner.join(values, next, width);
      continue;
    }
    with_class(joiner.kind, [&]<class T>(T) {
      T* const x = reinterpret_cast<T*>(values);
      const T* const y = reinterpret_cast<const T*>(next);
      for (std::size_t j = 0; j < width; ++j) {
        const bool taken =
            r.op == Reduction::argmax ? better<true>(y[j], x[j]) : better<false>(y[j], x[j]);
        if (!taken) continue;
        x[j] = y[j];
        places[j] = places[chunk * stride + j];
      }
    });
  }
}

/// The program behind, on results that lie side by side in scratch memory.
MapRequest request_behind(const FoldRequest& r, AllocationRef results) {
  const std::size_t others = r.behind->inputs.size() - 1 + r.behind->outputs.size();
  const std::size_t from = r.operands.size() - others;
  MapRequest behind;
  behind.program = r.behind;
  behind.n = r.results;
  behind.numbers = r.behind_numbers;
  behind.operands.push_back({std::move(results), 0});
  behind.operands.insert(behind.operands.end(),
                         r.operands.begin() + static_cast<std::ptrdiff_t>(from), r.operands.end());
  behind.same_as.assign(r.behind->inputs.size(), MapRequest::no_output);
  behind.rank = std::max<std::size_t>(r.kept, 1);
  if (r.kept == 0) {
    behind.sizes.assign(1 + behind.operands.size(), 1);
    return behind;
  }
  const auto shape = r.shape().first(r.kept);
  behind.sizes.assign(shape.begin(), shape.end());
  behind.sizes.resize(2 * r.kept);
  Size step = 1;
  for (std::size_t d = r.kept; d-- > 0; step *= shape[d]) behind.sizes[r.kept + d] = step;
  for (std::size_t o = from; o < r.operands.size(); ++o) {
    const auto strides = r.strides(o).first(r.kept);
    behind.sizes.insert(behind.sizes.end(), strides.begin(), strides.end());
  }
  return behind;
}

/// The memory of an output that holds what is found as it is, side by side; else null.
std::byte* plain_output(const MapRequest& behind, const ProgramSteps& steps, const Joiner& joiner) {
  if (!steps.steps.empty() || steps.outputs.size() != 1 || steps.inputs.size() != 1) return nullptr;
  const ProgramSteps::Output& output = steps.outputs[0];
  const bool is_as_found = joiner.is_float() && output.dtype == DType::float32 &&
                           steps.inputs[0].operand == 0 && output.from == steps.inputs[0].result;
  if (!is_as_found || !std::ranges::equal(behind.strides(output.operand), behind.strides(0))) {
    return nullptr;
  }
  const MapRequest::Operand& operand = behind.operands[output.operand];
  return data<std::byte>(operand.allocation) + operand.offset * static_cast<Size>(sizeof(float));
}

/// Whether elements lie row by row without gaps along these dimensions, `step` words each.
bool lies_densely(std::span<const Size> shape, std::span<const Size> strides, Size step = 1) {
  for (std::size_t d = shape.size(); d-- > 0; step *= shape[d]) {
    if (strides[d] != step) return false;
  }
  return true;
}

/// Rows of float32 that lie one behind the other, as results do: there is no program to run. False
/// where it is not so.
bool fold_dense_rows(const FoldRequest& r, const Cut& cut, const Joiner& joiner) {
  const ProgramData& behind = *r.behind;
  const bool is_as_found = behind.inputs.size() == 1 && behind.outputs.size() == 1 &&
                           behind.outputs[0] == behind.inputs[0] &&
                           behind.output_dtype() == DType::float32;
  if (!is_as_found || r.operands.size() != 2 || !reads_plainly(r) || r.finds_place() ||
      cut.columns || cut.chunks != 1 || cut.length > rows_of_level * program_block ||
      !lies_densely(r.shape(), r.strides(0)) ||
      !lies_densely(r.shape().first(r.kept), r.strides(1).first(r.kept))) {
    return false;
  }
  const float* const from = data<float>(r.operands[0].allocation) + r.operands[0].offset;
  float* const to = data<float>(r.operands[1].allocation) + r.operands[1].offset;
  const std::size_t pieces =
      std::clamp<std::size_t>(piece_count(cut.units * cut.length, element_grain), 1, cut.units);
  parallel_tasks(pieces, [&](std::size_t piece) {
    const std::size_t begin = cut.units * piece / pieces, end = cut.units * (piece + 1) / pieces;
    joiner.fold_rows(from + begin * cut.length, end - begin, cut.length, cut.length, to + begin);
  });
  return true;
}

/// Of argmax and argmin along one element all places are 0: where they are written as integers of
/// 32 or 64 bits that lie densely, these may be two words, the second of which is 0.
bool place_of_ones(const FoldRequest& r) {
  const ProgramData& behind = *r.behind;
  const std::size_t words = behind.outputs.size();
  if (!r.finds_place() || r.length != 1 || behind.inputs.size() != 1 ||
      r.operands.size() != 1 + words || words > 2) {
    return false;
  }
  const ProgramNode& first = behind.nodes[behind.outputs[0]];
  const ProgramNode& last = behind.nodes[behind.outputs[words - 1]];
  const bool is_place = behind.outputs[0] == behind.inputs[0] ||
                        (first.kind == NodeKind::cast && first.operands[0] == behind.inputs[0]);
  const std::size_t size = size_of(first.dtype);
  const MapRequest::Operand &from = r.operands[1], &next = r.operands[words];
  const bool is_zero =
      words == 1 ||
      (last.kind == NodeKind::constant && last.bits == 0 && next.allocation == from.allocation &&
       next.offset == from.offset + 1 && size_of(last.dtype) == size);
  for (std::size_t i = 0; i < words; ++i) {
    const std::span<const Size> strides = r.strides(1 + i).first(r.kept);
    if (!lies_densely(r.shape().first(r.kept), strides, static_cast<Size>(words))) return false;
  }
  if (!is_place || !is_zero || size % sizeof(std::uint32_t) != 0) return false;
  auto* const to = reinterpret_cast<std::uint32_t*>(data<std::byte>(from.allocation) +
                                                    from.offset * static_cast<Size>(size));
  const std::size_t each = words * size / sizeof *to;
  parallel_for(
      static_cast<std::size_t>(r.results), element_grain, [&](std::size_t begin, std::size_t end) {
        constexpr std::uint32_t zero = 0;
        program_kernels().repeat_words(&zero, 0, to + begin * each, 1, (end - begin) * each);
      });
  return true;
}

}  // namespace

ProgramLoop loop_of(Reduction op, ComputeClass kind) {
  const ElementOp joined = op == Reduction::sum                              ? ElementOp::add_
                           : op == Reduction::prod                           ? ElementOp::mul_
                           : op == Reduction::max || op == Reduction::argmax ? ElementOp::max_
                                                                             : ElementOp::min_;
  return program_kernels().ops[static_cast<std::size_t>(joined)][static_cast<std::size_t>(kind)];
}

bool reads_plainly(const FoldRequest& r) {
  const ProgramData& front = *r.front;
  const ProgramNode& output = front.nodes[front.outputs[0]];
  return front.inputs.size() == 1 && output.kind == NodeKind::input &&
         output.dtype == DType::float32;
}

bool walks_columns(const FoldRequest& r, Size least) {
  // Floats are joined in rows by vectors.
  const Size short_rows = class_of(r.front->output_dtype()) == ComputeClass::f32 ? 8 : 32;
  if (r.kept == 0 || r.rank == r.kept || r.shape()[r.kept - 1] < least) return false;
  const bool lies_in_rows = reads_plainly(r) && r.strides(0)[r.rank - 1] == 1;
  if (!r.scan && r.length < short_rows && !lies_in_rows) return true;
  const auto size = [](Size stride) { return stride < 0 ? -stride : stride; };
  for (std::size_t o = 0; o < r.front->inputs.size(); ++o) {
    const Size kept = size(r.strides(o)[r.kept - 1]), reduced = size(r.strides(o)[r.rank - 1]);
    if (kept != reduced) return kept != 0 && (reduced == 0 || kept < reduced);
  }
  return false;
}

MapRequest request_front(const FoldRequest& r, bool columns, std::size_t operands) {
  MapRequest front;
  front.program = r.front;
  front.n = r.results * r.length;
  front.numbers = r.numbers;
  front.operands.assign(r.operands.begin(),
                        r.operands.begin() + static_cast<std::ptrdiff_t>(operands));
  front.same_as.assign(r.front->inputs.size(), MapRequest::no_output);
  front.rank = std::max<std::size_t>(r.rank, 1);
  if (r.rank == 0) {
    front.sizes.assign(1 + operands, 1);
    return front;
  }
  const auto append = [&](std::span<const Size> all) {
    const std::size_t outer = columns ? r.kept - 1 : r.kept;
    front.sizes.insert(front.sizes.end(), all.begin(), all.begin() + static_cast<long>(outer));
    front.sizes.insert(front.sizes.end(), all.begin() + static_cast<long>(r.kept), all.end());
    if (columns) front.sizes.push_back(all[outer]);
  };
  append(r.shape());
  for (std::size_t o = 0; o < operands; ++o) append(r.strides(o));
  return front;
}

void CpuBackend::do_map_reduce(const FoldRequest& r) {
  if (r.op == Reduction::moments) return moments(r);
  if (place_of_ones(r)) return;
  const Cut cut = cut_of(r);
  const Joiner joiner(r);
  if (fold_dense_rows(r, cut, joiner)) return;
  const MapRequest front = request_front(r, cut.columns, r.front->inputs.size());
  const auto planned = plans_.of(r.front, {}), planned_behind = plans_.of(r.behind, {});
  const ProgramSteps &steps = *planned, &behind_steps = *planned_behind;
  // Units that are done at a time, and what they need: values, places, and those of each chunk.
  const std::size_t units =
      std::min(cut.units, std::max<std::size_t>(slab_results / (cut.width * cut.chunks), 1));
  const std::size_t results = units * cut.width, parts = results * cut.chunks;
  const bool places = r.finds_place();
  const std::size_t elements = cut.width * std::min(cut.length, cut.chunk);
  const std::size_t most_pieces = piece_count(units * cut.chunks * elements, element_grain);
  const std::size_t floats =
      (std::max(steps.registers, behind_steps.registers) + 1) * register_bytes / sizeof(float);
  // The registers of one task are in the same block.
  const bool is_one = most_pieces <= 1;
  OpScratch registers(*memory_, r.call, is_one ? 0 : floats, most_pieces);
  constexpr std::size_t line = 64;
  const std::size_t found_bytes =
      ((parts + results) * (joiner.size + sizeof(std::uint32_t)) + line - 1) / line * line;
  const AllocationRef scratch =
      memory_->scratch(r.call, found_bytes + (is_one ? floats * sizeof(float) : 0));
  std::byte* const part_values = data<std::byte>(scratch);
  std::byte* const values = part_values + parts * joiner.size;
  auto* const part_places = reinterpret_cast<std::uint32_t*>(values + results * joiner.size);
  std::uint32_t* const found = part_places + parts;
  /// Calls body(memory) with room for a task's registers.
  const auto with_registers = [&](const auto& body) {
    if (is_one) return body(part_values + found_bytes);
    Scratch own(registers);
    body(reinterpret_cast<std::byte*>(own.take(floats)));
  };
  MapRequest behind = request_behind(r, scratch);

  // What is found goes to an output's memory at once where nothing else is made of it.
  std::byte* const output = cut.chunks == 1 ? plain_output(behind, behind_steps, joiner) : nullptr;
  for (std::size_t first = 0; first < cut.units; first += units) {
    const std::size_t now = std::min(units, cut.units - first), tasks = now * cut.chunks;
    const std::size_t pieces =
        std::clamp<std::size_t>(piece_count(tasks * elements, element_grain), 1, tasks);
    const std::size_t base = cut.first(first);
    parallel_tasks(pieces, [&](std::size_t piece) {
      with_registers([&](std::byte* memory) {
        ProgramRun run(front, steps, memory);
        Reducer reducer(r, cut, joiner, run);
        const std::size_t begin = tasks * piece / pieces, end = tasks * (piece + 1) / pieces;
        const auto values_of = [&](std::size_t t) {
          return output != nullptr ? output + cut.first(first + t) * joiner.size
                                   : part_values + t * cut.width * joiner.size;
        };
        if (!cut.columns && cut.chunks == 1) {
          return reducer.reduce_rows(first + begin, end - begin, values_of(begin),
                                     part_places + begin);
        }
        if (cut.chunks == 1 && reducer.reduce_units(first + begin, end - begin, values_of(begin))) {
          return;
        }
        for (std::size_t t = begin; t < end; ++t) {
          reducer.reduce(first + t / cut.chunks, t % cut.chunks, values_of(t),
                         part_places + t * cut.width);
        }
      });
    });
    if (output != nullptr) continue;
    // What is found of whole units lies side by side already where these are of one width.
    const bool is_found = cut.chunks == 1 && cut.inner % cut.width == 0;
    std::size_t done = is_found ? now * cut.width : 0;
    for (std::size_t unit = 0; unit < now && !is_found; ++unit) {
      const std::size_t at = unit * cut.chunks * cut.width, width = cut.count(first + unit);
      join_chunks(r, joiner, part_values + at * joiner.size, part_places + at, cut.chunks,
                  cut.width, width);
      std::memcpy(values + done * joiner.size, part_values + at * joiner.size, width * joiner.size);
      std::copy_n(part_places + at, width, found + done);
      done += width;
    }
    const std::byte* const found_places =
        reinterpret_cast<const std::byte*>(is_found ? part_places : found);
    const std::byte* const given = places ? found_places : is_found ? part_values : values;
    const std::size_t size = places ? sizeof(std::uint32_t) : joiner.size;
    behind.operands[0].offset =
        (given - data<std::byte>(scratch)) / static_cast<Size>(size) - static_cast<Size>(base);
    parallel_for(done, element_grain, [&](std::size_t begin, std::size_t end) {
      with_registers([&](std::byte* memory) {
        ProgramRun(behind, behind_steps, memory).run(base + begin, base + end);
      });
    });
  }
}

}  // namespace tilewright::cpu
