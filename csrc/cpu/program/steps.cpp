#include "cpu/program/steps.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "cpu/elements.hpp"
#include "cpu/kernels/random_table.hpp"
#include "cpu/program/philox.hpp"

namespace tilewright::cpu {

namespace {

/// Registers of nodes, given back after their last use.
class Registers {
 public:
  /// `kept` are nodes whose registers are never given back.
  Registers(const ProgramData& data, const std::vector<bool>& needed,
            std::span<const std::uint32_t> kept)
      : last_use_(data.nodes.size(), ProgramSteps::nothing),
        of_(data.nodes.size(), ProgramSteps::nothing) {
    for (std::uint32_t i = 0; i < data.nodes.size(); ++i) {
      if (!needed[i]) continue;
      const ProgramNode& node = data.nodes[i];
      for (std::uint32_t o = 0; o < node.operand_count(); ++o) {
        // What is filled or loaded at the start stays.
        const std::uint32_t operand = node.operands[o];
        if (data.nodes[operand].operand_count() != 0) last_use_[operand] = i;
      }
    }
    for (const std::uint32_t output : data.outputs) last_use_[output] = ProgramSteps::nothing;
    for (const std::uint32_t node : kept) last_use_[node] = ProgramSteps::nothing;
  }
  std::uint32_t take(std::uint32_t node) {
    std::uint32_t taken = count_;
    if (free_.empty()) {
      ++count_;
    } else {
      taken = free_.back();
      free_.pop_back();
    }
    return of_[node] = taken;
  }
  /// So many, one behind the other.
  std::uint32_t take_row(std::uint32_t length) {
    count_ += length;
    return count_ - length;
  }
  void set(std::uint32_t node, std::uint32_t taken) { of_[node] = taken; }
  void let_go(std::uint32_t operand, std::uint32_t user) {
    if (last_use_[operand] != user) return;
    last_use_[operand] = ProgramSteps::nothing;
    free_.push_back(of_[operand]);
  }
  std::uint32_t of(std::uint32_t node) const { return of_[node]; }
  std::uint32_t count() const { return count_; }

 private:
  std::vector<std::uint32_t> last_use_, of_, free_;
  std::uint32_t count_ = 0;
};

/// What outputs need, where the words of a block of Philox are made at once of its counter.
std::vector<bool> needed_around(const ProgramData& data, const PhiloxNodes& philox) {
  std::vector<bool> all(data.nodes.size());
  for (const std::uint32_t output : data.outputs) all[output] = true;
  for (std::size_t i = data.nodes.size(); i-- > 0;) {
    if (!all[i]) continue;
    if (philox.has_word(static_cast<std::uint32_t>(i))) {
      all[philox.counter[0]] = all[philox.counter[1]] = true;
      continue;
    }
    const ProgramNode& node = data.nodes[i];
    for (std::uint32_t o = 0; o < node.operand_count(); ++o) all[node.operands[o]] = true;
  }
  return all;
}

ProgramSteps::Affine affine_of(ElementOp op) {
  using Affine = ProgramSteps::Affine;
  if (op == ElementOp::add_) return Affine::sum;
  if (op == ElementOp::sub_) return Affine::difference;
  return op == ElementOp::mul_ ? Affine::product : Affine::no;
}

/// The operands of a node that are numbers or constants, a bit for each.
unsigned fixed_operands(const ProgramData& data, const ProgramNode& node) {
  unsigned found = 0;
  for (std::uint32_t o = 0; o < node.operand_count(); ++o) {
    const NodeKind kind = data.nodes[node.operands[o]].kind;
    if (kind == NodeKind::number || kind == NodeKind::constant) found |= 1U << o;
  }
  return found;
}

/// Says of each step whether the next one alone reads its result.
void mark_chains(const ProgramData& data, const std::vector<bool>& needed,
                 std::vector<ProgramSteps::Step>& steps) {
  std::vector<std::uint32_t> uses(data.nodes.size());
  for (std::size_t i = 0; i < data.nodes.size(); ++i) {
    const ProgramNode& node = data.nodes[i];
    for (std::uint32_t o = 0; needed[i] && o < node.operand_count(); ++o) ++uses[node.operands[o]];
  }
  for (const std::uint32_t output : data.outputs) ++uses[output];
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    if (steps[i].node == ProgramSteps::nothing || steps[i + 1].node == ProgramSteps::nothing) {
      continue;
    }
    const ProgramNode& next = data.nodes[steps[i + 1].node];
    const auto operands = std::span(next.operands).first(next.operand_count());
    steps[i].feeds_next =
        uses[steps[i].node] == 1 && std::ranges::find(operands, steps[i].node) != operands.end();
  }
}

/// A number or a constant in a register.
ProgramSteps::Fixed fixed_of(const ProgramNode& node, std::uint32_t held) {
  if (node.kind != NodeKind::number) return {held, node.dtype, node.bits};
  return {held, node.dtype, 0, static_cast<std::uint32_t>(node.bits)};
}

/// The step that makes a block's words, of a second half of the counter and a key that are filled
/// into registers of their own.
ProgramSteps::Step philox_step(const ProgramData& data, const PhiloxNodes& philox,
                               Registers& registers, ProgramSteps& steps) {
  const std::uint32_t rest = registers.take_row(4), words = registers.take_row(4);
  const std::array<std::uint32_t, 4> fixed{philox.counter[2], philox.counter[3], philox.key[0],
                                           philox.key[1]};
  for (std::uint32_t i = 0; i < 4; ++i) {
    const ProgramNode& node = data.nodes[fixed[i]];
    steps.fixed.push_back(fixed_of(node, rest + i));
    registers.set(philox.words[i], words + i);
  }
  return {.loop = random_table().philox,
          .operands = {registers.of(philox.counter[0]), registers.of(philox.counter[1]), rest},
          .node = ProgramSteps::nothing,
          .result = words,
          .output = ProgramSteps::nothing,
          .results = 4,
          .bytes = {4, 4, 4}};
}

}  // namespace

std::size_t bytes_of(ComputeClass kind) {
  constexpr std::array<std::uint8_t, class_count> bytes{1, 4, 4, 8, 8, 4, 8};
  return bytes[index(kind)];
}

std::size_t grain_of(const ProgramSteps& steps) {
  const bool has_words =
      std::any_of(steps.steps.begin(), steps.steps.end(),
                  [](const ProgramSteps::Step& step) { return step.results > 1; });
  return has_words ? element_grain / 8 : element_grain;
}

ProgramSteps plan_steps(const ProgramData& data, std::span<const std::uint32_t> same_as) {
  using Step = ProgramSteps::Step;
  constexpr std::uint32_t nothing = ProgramSteps::nothing;
  const ProgramKernels& kernels = program_kernels();
  const std::optional<PhiloxNodes> philox = find_philox(data);
  const std::vector<bool> needed = philox ? needed_around(data, *philox) : data.needed();
  Registers registers(data, needed,
                      philox ? std::span(philox->counter) : std::span<const std::uint32_t>());
  ProgramSteps steps;
  // First what is there before the first step.
  for (std::uint32_t i = 0; i < data.nodes.size(); ++i) {
    if (!needed[i]) continue;
    const ProgramNode& node = data.nodes[i];
    switch (node.kind) {
      case NodeKind::input: {
        const auto at = static_cast<std::uint32_t>(node.bits);
        const bool in_place = at < same_as.size() && same_as[at] != MapRequest::no_output;
        const bool is_output =
            std::find(data.outputs.begin(), data.outputs.end(), i) != data.outputs.end();
        steps.inputs.push_back({at, registers.take(i), node.dtype, in_place && is_output});
        break;
      }
      case NodeKind::number:
      case NodeKind::constant:
        steps.fixed.push_back(fixed_of(node, registers.take(i)));
        break;
      case NodeKind::op:
      case NodeKind::cast:
        break;
    }
  }
  for (std::uint32_t i = 0; i < data.nodes.size(); ++i) {
    const ProgramNode& node = data.nodes[i];
    if (!needed[i] || node.operand_count() == 0) continue;
    if (philox && philox->has_word(i)) {
      if (registers.of(i) == nothing) {
        steps.steps.push_back(philox_step(data, *philox, registers, steps));
      }
      continue;
    }
    Step step{
        .operands = {nothing, nothing, nothing}, .node = i, .result = nothing, .output = nothing};
    for (std::uint32_t o = 0; o < node.operand_count(); ++o) {
      step.operands[o] = registers.of(node.operands[o]);
      step.bytes[o] =
          static_cast<std::uint8_t>(bytes_of(class_of(data.nodes[node.operands[o]].dtype)));
    }
    if (node.kind == NodeKind::op) {
      const ElementOpInfo& info = info_of(node.op);
      const DType of = data.nodes[node.operands[info.rule == OpRule::select ? 1 : 0]].dtype;
      step.loop = kernels.ops[static_cast<std::size_t>(node.op)][index(class_of(of))];
      step.wrap = kernels.wraps[index(node.dtype)];
      if (of == DType::float32 && node.dtype == DType::float32) {
        step.streamed = kernels.streamed[static_cast<std::size_t>(node.op)];
        const RowsLoops& rows = kernels.rows[static_cast<std::size_t>(node.op)];
        const bool has_loops =
            std::ranges::any_of(rows, [](RowsLoop one) { return one != nullptr; });
        if (has_loops) step.rows = &rows;
        const unsigned fixed = fixed_operands(data, node);
        if (fixed != 0) step.with_fixed = rows[fixed];
        step.affine = affine_of(node.op);
      }
    } else {
      const DType from = data.nodes[node.operands[0]].dtype;
      step.loop = kernels.casts[index(class_of(from))][index(node.dtype)];
    }
    // An operand may be the result, but of another size of element it would be overwritten.
    for (std::uint32_t o = 0; o < node.operand_count(); ++o) {
      const std::uint32_t operand = node.operands[o];
      const bool same_size =
          bytes_of(class_of(data.nodes[operand].dtype)) >= bytes_of(class_of(node.dtype));
      if (same_size) registers.let_go(operand, i);
    }
    step.result = registers.take(i);
    for (std::uint32_t o = 0; o < node.operand_count(); ++o) registers.let_go(node.operands[o], i);
    steps.steps.push_back(step);
  }
  const bool in_place = std::any_of(same_as.begin(), same_as.end(), [](std::uint32_t output) {
    return output != MapRequest::no_output;
  });
  for (std::uint32_t i = 0; i < data.outputs.size(); ++i) {
    const std::uint32_t from = data.outputs[i];
    const DType dtype = data.nodes[from].dtype;
    steps.outputs.push_back(
        {static_cast<std::uint32_t>(data.inputs.size()) + i, registers.of(from), dtype});
    // What is written at once must not be read any more as the input that it was.
    const auto made = std::find_if(steps.steps.begin(), steps.steps.end(),
                                   [&](const Step& step) { return step.node == from; });
    if (made == steps.steps.end() || kernels.stores[index(dtype)] != nullptr) continue;
    if (made->output == nothing && (!in_place || made + 1 == steps.steps.end())) made->output = i;
  }
  mark_chains(data, needed, steps.steps);
  steps.registers = registers.count();
  return steps;
}

std::shared_ptr<const ProgramSteps> StepPlans::of(const std::shared_ptr<const ProgramData>& program,
                                                  std::span<const std::uint32_t> same_as) {
  const bool in_place = std::ranges::any_of(
      same_as, [](std::uint32_t output) { return output != MapRequest::no_output; });
  const auto address = reinterpret_cast<std::uintptr_t>(program.get());
  Plan& kept = plans_[address / alignof(std::max_align_t) % plans_.size()];
  if (!in_place) {
    const std::lock_guard lock(mutex_);
    if (kept.program == program) return kept.steps;
  }
  Plan made{program, std::make_shared<const ProgramSteps>(plan_steps(*program, same_as))};
  std::shared_ptr<const ProgramSteps> steps = made.steps;
  if (in_place) return steps;
  const std::lock_guard lock(mutex_);
  std::swap(kept, made);
  return steps;
}

void ProgramSteps::Fixed::fill(std::byte* to, std::span<const std::uint64_t> numbers) const {
  const ComputeClass kind = class_of(dtype);
  const std::uint64_t own = of(numbers);
  std::array<std::byte, 8> stored, computed{};
  std::memcpy(stored.data(), &own, 8);
  if (const ProgramLoop load = program_kernels().loads[index(dtype)]) {
    load(stored.data(), nullptr, nullptr, computed.data(), 1);
  } else {
    computed = stored;
  }
  const auto fill = [&]<class Word>(Word word) {
    std::memcpy(&word, computed.data(), sizeof word);
    std::fill_n(reinterpret_cast<Word*>(to), program_block, word);
  };
  switch (bytes_of(kind)) {
    case 1:
      return fill(std::uint8_t{});
    case 4:
      return fill(std::uint32_t{});
    default:
      return fill(std::uint64_t{});
  }
}

}  // namespace tilewright::cpu
