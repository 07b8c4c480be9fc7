#include "core/ops/map_many.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <vector>

#include "core/program/program_data.hpp"
#include "cpu/backend.hpp"
#include "cpu/elements.hpp"
#include "cpu/program/steps.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

// A program over groups of operands: one walk through the elements of all, cut in equal shares.
namespace tilewright::cpu {

namespace {

/// Registers that find room on the stack.
constexpr std::size_t few_registers = 12;
/// What a group costs besides its elements, in elements.
constexpr std::size_t group_cost = 256;
/// Elements that shares of a group are multiples of: whole lines of a cache.
constexpr std::size_t line = 64;

/// The steps of a program by how its inputs are outputs, which is mostly alike for all groups.
class StepsOf {
 public:
  explicit StepsOf(const MapManyRequest& r) : request_(r), inputs_(r.program->inputs.size()) {
    for (std::size_t g = 0; g < r.lengths.size(); ++g) {
      const auto same = std::span(r.same_as).subspan(g * inputs_, inputs_);
      if (g > 0 &&
          std::ranges::equal(same, std::span(r.same_as).subspan((g - 1) * inputs_, inputs_))) {
        of_group_.push_back(of_group_.back());
        continue;
      }
      const auto [found, is_new] = places_.try_emplace({same.begin(), same.end()}, all_.size());
      if (is_new) all_.push_back(plan_steps(*r.program, same));
      of_group_.push_back(found->second);
    }
  }
  const ProgramSteps& of(std::size_t group) const { return all_[of_group_[group]]; }
  std::uint32_t registers() const {
    std::uint32_t most = 0;
    for (const ProgramSteps& steps : all_) most = std::max(most, steps.registers);
    return most;
  }

 private:
  const MapManyRequest& request_;
  std::size_t inputs_;
  std::map<std::vector<std::uint32_t>, std::size_t> places_;
  std::vector<ProgramSteps> all_;
  std::vector<std::size_t> of_group_;
};

/// One thread's part of the work.
class Share {
 public:
  Share(const MapManyRequest& r, const StepsOf& steps, bool streaming, std::byte* memory)
      : request_(r),
        all_steps_(steps),
        operands_(r.operands.size() / r.lengths.size()),
        streaming_(streaming),
        memory_(memory),
        spare_(memory + steps.registers() * register_bytes),
        registers_(steps.registers()),
        at_(steps.registers()) {
    for (std::size_t i = 0; i < registers_.size(); ++i) registers_[i] = memory + i * register_bytes;
  }

  void run(std::size_t group, std::size_t begin, std::size_t end) {
    const ProgramSteps& steps = all_steps_.of(group);
    if (steps_ != &steps) {
      steps_ = &steps;
      at_ = registers_;
      for (const ProgramSteps::Fixed& fixed : steps.fixed)
        fixed.fill(at_[fixed.result], request_.numbers);
      bytes_of_inputs_ = 0;
      for (const ProgramSteps::Input& one : steps.inputs) bytes_of_inputs_ += size_of(one.dtype);
    }
    group_ = group;
    for (std::size_t n = 0; begin < end; begin += n) {
      n = std::min(program_block, end - begin);
      ahead_.begin = begin + n;
      ahead_.count = std::min(program_block, end - ahead_.begin);
      block(begin, n);
    }
  }

 private:
  std::byte* memory_of(std::uint32_t operand, DType dtype, std::size_t element) const {
    const MapRequest::Operand& one = request_.operands[group_ * operands_ + operand];
    return data<std::byte>(one.allocation) +
           (static_cast<std::size_t>(one.offset) + element) * size_of(dtype);
  }

  void block(std::size_t begin, std::size_t n) {
    for (const ProgramSteps::Input& input : steps_->inputs) read(input, begin, n);
    ahead_.input = ahead_.byte = 0;
    // A bit of what comes next for each step, so that memory works while they do.
    const std::size_t steps = steps_->steps.size();
    const std::size_t bytes = steps == 0 ? 0 : ahead_.count * bytes_of_inputs_ / steps + 64;
    for (const ProgramSteps::Step& step : steps_->steps) {
      prefetch(bytes);
      const auto operand = [&](std::size_t o) -> const void* {
        return step.operands[o] != ProgramSteps::nothing ? at_[step.operands[o]] : nullptr;
      };
      std::byte* const result = result_of(step, begin);
      const bool streamed = streaming_ && result != registers_[step.result];
      (streamed ? step.streamed : step.loop)(operand(0), operand(1), operand(2), result, n);
      if (step.wrap) step.wrap(result, nullptr, nullptr, result, n);
      at_[step.result] = result;
      for (std::uint32_t i = 1; i < step.results; ++i) {
        at_[step.result + i] = registers_[step.result + i];
      }
    }
    for (const ProgramSteps::Output& output : steps_->outputs) write(output, begin, n);
  }

  void prefetch(std::size_t bytes) {
    while (ahead_.input < steps_->inputs.size()) {
      const ProgramSteps::Input& input = steps_->inputs[ahead_.input];
      const std::size_t all = ahead_.count * size_of(input.dtype);
      const std::byte* const memory = memory_of(input.operand, input.dtype, ahead_.begin);
      for (; ahead_.byte < all; ahead_.byte += 64, bytes -= 64) {
        if (bytes < 64) return;
        __builtin_prefetch(memory + ahead_.byte);
      }
      ahead_.byte = 0;
      ++ahead_.input;
    }
  }

  /// Where a step's result goes: to an output's own memory where that takes it at once.
  std::byte* result_of(const ProgramSteps::Step& step, std::size_t begin) const {
    if (step.output == ProgramSteps::nothing || (streaming_ && step.streamed == nullptr)) {
      return registers_[step.result];
    }
    const ProgramSteps::Output& output = steps_->outputs[step.output];
    return memory_of(output.operand, output.dtype, begin);
  }

  void read(const ProgramSteps::Input& input, std::size_t begin, std::size_t n) {
    const ProgramLoop load = program_kernels().loads[index(input.dtype)];
    std::byte* const source = memory_of(input.operand, input.dtype, begin);
    if (load == nullptr && !input.copied) {
      at_[input.result] = source;
      return;
    }
    std::byte* const own = at_[input.result] = registers_[input.result];
    if (load != nullptr) {
      load(source, nullptr, nullptr, own, n);
    } else {
      std::memcpy(own, source, n * size_of(input.dtype));
    }
  }

  void write(const ProgramSteps::Output& output, std::size_t begin, std::size_t n) {
    const std::size_t size = size_of(output.dtype);
    const ProgramLoop store = program_kernels().stores[index(output.dtype)];
    std::byte* const memory = memory_of(output.operand, output.dtype, begin);
    const std::byte* values = at_[output.from];
    if (memory == values) return;
    if (streaming_) {
      if (store != nullptr) {
        store(values, nullptr, nullptr, spare_, n);
        values = spare_;
      }
      program_kernels().stream(values, nullptr, nullptr, memory, n * size);
    } else if (store != nullptr) {
      store(values, nullptr, nullptr, memory, n);
    } else {
      std::memcpy(memory, values, n * size);
    }
  }

  const MapManyRequest& request_;
  const StepsOf& all_steps_;
  const ProgramSteps* steps_ = nullptr;
  std::size_t operands_, group_ = 0, bytes_of_inputs_ = 0;
  struct Ahead {
    std::size_t begin = 0, count = 0;  ///< the next block
    std::size_t input = 0, byte = 0;   ///< what of it is not on its way
  } ahead_;
  const bool streaming_;
  std::byte* const memory_;
  std::byte* const spare_;
  std::vector<std::byte*> registers_;
  std::vector<std::byte*> at_;  // where each register's elements are now
};

/// Whether outputs go past the caches, which they are too large for.
bool streams(const MapManyRequest& r, std::size_t elements) {
  std::size_t bytes = 0;
  for (const std::uint32_t node : r.program->outputs)
    bytes += size_of(r.program->nodes[node].dtype);
  const bool in_place = std::ranges::any_of(
      r.same_as, [](std::uint32_t output) { return output != MapRequest::no_output; });
  return store_for(bytes * elements, in_place) == Store::streaming;
}

}  // namespace

void CpuBackend::do_map_many(const MapManyRequest& r) {
  const StepsOf steps(r);
  const std::size_t groups = r.lengths.size();
  std::vector<std::size_t> starts(groups + 1, 0);  // what the groups before each cost
  std::size_t elements = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    const auto length = static_cast<std::size_t>(r.lengths[g]);
    starts[g + 1] = starts[g] + group_cost + length;
    elements += length;
  }
  const bool streaming = streams(r, elements);
  const std::size_t cost = starts.back();
  const std::size_t pieces = std::max<std::size_t>(piece_count(cost, grain_of(steps.of(0))), 1);
  const bool on_stack = steps.registers() <= few_registers;
  const std::size_t floats = (steps.registers() + 1) * register_bytes / sizeof(float);
  OpScratch scratch(*memory_, "map_many", on_stack ? 0 : floats, pieces);
  const auto element_of = [&](std::size_t group, std::size_t place) {
    const auto length = static_cast<std::size_t>(r.lengths[group]);
    const std::size_t behind = place - std::min(place, starts[group] + group_cost);
    return behind >= length ? length : behind / line * line;
  };
  parallel_tasks(pieces, [&](std::size_t i) {
    const auto place = [&](std::size_t piece) {
      return cost / pieces * piece + cost % pieces * piece / pieces;
    };
    const std::size_t begin = place(i), end = place(i + 1);
    const auto after = std::upper_bound(starts.begin(), starts.end(), begin);
    const auto first = static_cast<std::size_t>(after - starts.begin()) - 1;
    const auto run = [&](Share share) {
      for (std::size_t g = first; g < groups && starts[g] < end; ++g) {
        share.run(g, element_of(g, begin), element_of(g, end));
      }
      if (streaming) program_kernels().end_stream();
    };
    if (on_stack) {
      alignas(64) std::array<std::byte, (few_registers + 1) * register_bytes> memory;
      run(Share(r, steps, streaming, memory.data()));
    } else {
      Scratch own(scratch);
      run(Share(r, steps, streaming, reinterpret_cast<std::byte*>(own.take(floats))));
    }
  });
}

}  // namespace tilewright::cpu
