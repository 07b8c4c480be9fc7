#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/requests.hpp"
#include "cpu/memory.hpp"
#include "cpu/program_steps.hpp"

namespace tilewright::cpu {

/// A program on any row of elements of its request, counted row by row through the shape: results
/// stay in registers, or go from there to memory. At most a block at a time.
class ProgramRun {
 public:
  /// `memory` holds steps.registers registers and one more.
  ProgramRun(const MapRequest& request, const ProgramSteps& steps, std::byte* memory)
      : request_(request), steps_(steps), at_(steps.registers) {
    for (std::uint32_t i = 0; i < steps.registers; ++i) at_[i] = memory + i * register_bytes;
    spare_ = memory + steps.registers * register_bytes;
    for (const ProgramSteps::Fixed& fixed : steps.fixed) fixed.fill(at_[fixed.result]);
    registers_ = at_;
  }

  /// Writes all outputs of elements begin to end.
  void run(std::size_t begin, std::size_t end) {
    for (std::size_t n = 0; begin < end; begin += n) {
      n = std::min(program_block, end - begin);
      const Walk start(request_, begin);
      evaluate(start, n);
      for (const ProgramSteps::Output& output : steps_.outputs) {
        write(output.operand, output.dtype, at_[output.from], start, n);
      }
    }
  }
  /// The first output of the next n elements, as its class has it. It may lie in the memory of an
  /// input.
  const std::byte* values(std::size_t begin, std::size_t n) {
    evaluate(Walk(request_, begin), n);
    return at_[steps_.outputs[0].from];
  }
  /// Stores n elements, as their class has them.
  void store(std::uint32_t operand, DType dtype, const std::byte* values, std::size_t begin,
             std::size_t n) {
    write(operand, dtype, values, Walk(request_, begin), n);
  }

 private:
  /// Where the walk is: an element of the shape, in runs along the last dimension.
  class Walk {
   public:
    Walk(const MapRequest& r, std::size_t start) : request_(r) {
      auto rest = static_cast<Size>(start);
      for (std::size_t d = r.rank; d-- > 0;) {
        index_[d] = rest % r.shape()[d];
        rest /= r.shape()[d];
      }
    }
    // Most shapes have few of the dimensions that there is room for.
    Walk(const Walk& other) : request_(other.request_) {
      std::copy_n(other.index_.begin(), request_.rank, index_.begin());
    }
    Walk& operator=(const Walk&) = delete;

    std::size_t left_in_run() const {
      const std::size_t last = request_.rank - 1;
      return static_cast<std::size_t>(request_.shape()[last] - index_[last]);
    }
    /// In elements from the operand's start.
    Size place(std::size_t operand) const {
      const std::span<const Size> strides = request_.strides(operand);
      Size at = request_.operands[operand].offset;
      for (std::size_t d = 0; d < request_.rank; ++d) at += index_[d] * strides[d];
      return at;
    }
    void advance(std::size_t n) {
      std::size_t d = request_.rank - 1;
      index_[d] += static_cast<Size>(n);
      while (d > 0 && index_[d] == request_.shape()[d]) {
        index_[d] = 0;
        ++index_[--d];
      }
    }

   private:
    const MapRequest& request_;
    std::array<Size, max_rank> index_;
  };

  void evaluate(const Walk& start, std::size_t n) {
    for (const ProgramSteps::Input& input : steps_.inputs) read(input, start, n);
    for (const ProgramSteps::Step& step : steps_.steps) {
      const auto operand = [&](std::size_t o) -> const void* {
        return step.operands[o] != ProgramSteps::nothing ? at_[step.operands[o]] : nullptr;
      };
      std::byte* const result = registers_[step.result];
      step.loop(operand(0), operand(1), operand(2), result, n);
      if (step.wrap) step.wrap(result, nullptr, nullptr, result, n);
      at_[step.result] = result;
    }
  }

  std::byte* memory_of(std::uint32_t operand, DType dtype, Size place) const {
    return data<std::byte>(request_.operands[operand].allocation) +
           place * static_cast<Size>(size_of(dtype));
  }
  Size step_of(std::uint32_t operand) const { return request_.strides(operand)[request_.rank - 1]; }
  /// An operand's own memory, where its next elements lie side by side.
  std::byte* run_of(std::uint32_t operand, DType dtype, const Walk& start, std::size_t n) const {
    if (step_of(operand) != 1 || start.left_in_run() < n) return nullptr;
    return memory_of(operand, dtype, start.place(operand));
  }

  /// Calls body(memory, element, n) for each run of n elements along the last dimension.
  template <class Body>
  void for_runs(Walk walk, std::uint32_t operand, DType dtype, std::size_t n,
                const Body& body) const {
    for (std::size_t done = 0; done < n;) {
      const std::size_t now = std::min(n - done, walk.left_in_run());
      body(memory_of(operand, dtype, walk.place(operand)), done, now);
      walk.advance(now);
      done += now;
    }
  }
  /// Calls body with a word of the dtype's size.
  template <class Body>
  static void with_word(DType dtype, const Body& body) {
    switch (size_of(dtype)) {
      case 1:
        return body(std::uint8_t{});
      case 2:
        return body(std::uint16_t{});
      case 4:
        return body(std::uint32_t{});
      default:
        return body(std::uint64_t{});
    }
  }

  void read(const ProgramSteps::Input& input, const Walk& start, std::size_t n) {
    const ProgramLoop load = program_kernels().loads[index(input.dtype)];
    std::byte* const own = registers_[input.result];
    const std::byte* source = run_of(input.operand, input.dtype, start, n);
    if (source == nullptr) {
      const Size step = step_of(input.operand);
      std::byte* const gathered = load == nullptr ? own : spare_;
      with_word(input.dtype, [&]<class Word>(Word) {
        Word* const to = reinterpret_cast<Word*>(gathered);
        for_runs(start, input.operand, input.dtype, n,
                 [&](const std::byte* memory, std::size_t done, std::size_t now) {
                   const Word* const x = reinterpret_cast<const Word*>(memory);
                   for (std::size_t i = 0; i < now; ++i) {
                     to[done + i] = x[static_cast<Size>(i) * step];
                   }
                 });
      });
      source = gathered;
    } else if (load == nullptr) {
      at_[input.result] = const_cast<std::byte*>(source);
      return;
    }
    at_[input.result] = own;
    if (load != nullptr) load(source, nullptr, nullptr, own, n);
  }

  void write(std::uint32_t operand, DType dtype, const std::byte* values, const Walk& start,
             std::size_t n) {
    const ProgramLoop store = program_kernels().stores[index(dtype)];
    if (std::byte* const run = run_of(operand, dtype, start, n)) {
      if (store != nullptr) {
        store(values, nullptr, nullptr, run, n);
      } else {
        std::memcpy(run, values, n * size_of(dtype));
      }
      return;
    }
    if (store != nullptr) {
      store(values, nullptr, nullptr, spare_, n);
      values = spare_;
    }
    const Size step = step_of(operand);
    with_word(dtype, [&]<class Word>(Word) {
      const Word* const x = reinterpret_cast<const Word*>(values);
      for_runs(start, operand, dtype, n, [&](std::byte* memory, std::size_t done, std::size_t now) {
        Word* const to = reinterpret_cast<Word*>(memory);
        for (std::size_t i = 0; i < now; ++i) to[static_cast<Size>(i) * step] = x[done + i];
      });
    });
  }

  const MapRequest& request_;
  const ProgramSteps& steps_;
  std::vector<std::byte*> at_;  // where each register's elements are now
  std::vector<std::byte*> registers_;
  std::byte* spare_;
};

}  // namespace tilewright::cpu
