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
      : request_(request), steps_(steps), at_(steps.registers), held_(steps.registers) {
    for (std::uint32_t i = 0; i < steps.registers; ++i) at_[i] = memory + i * register_bytes;
    spare_ = memory + steps.registers * register_bytes;
    for (const ProgramSteps::Fixed& fixed : steps.fixed) {
      fixed.fill(at_[fixed.result]);
      held_[fixed.result] = Held::filled;
    }
    registers_ = at_;
  }

  /// Writes all outputs of elements begin to end.
  void run(std::size_t begin, std::size_t end) {
    for (std::size_t n = 0; begin < end; begin += n) {
      n = std::min(program_block, end - begin);
      const Walk start(request_, begin);
      evaluate(start, n);
      for (const ProgramSteps::Output& output : steps_.outputs) {
        spread(output.from, bytes_of(class_of(output.dtype)), n);
        write(output.operand, output.dtype, at_[output.from], start, n);
      }
    }
  }
  /// The first output of the next n elements, as its class has it. It may lie in the memory of an
  /// input.
  const std::byte* values(std::size_t begin, std::size_t n) {
    evaluate(Walk(request_, begin), n);
    const ProgramSteps::Output& output = steps_.outputs[0];
    spread(output.from, bytes_of(class_of(output.dtype)), n);
    return at_[output.from];
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

  /// What a register has: an element each, one for all of them in its first place, or the same in
  /// all places.
  enum class Held : std::uint8_t { each, one, filled };

  void evaluate(const Walk& start, std::size_t n) {
    for (const ProgramSteps::Input& input : steps_.inputs) read(input, start, n);
    for (const ProgramSteps::Step& step : steps_.steps) {
      bool same = step.results == 1;
      for (const std::uint32_t operand : step.operands) {
        same = same && (operand == ProgramSteps::nothing || held_[operand] != Held::each);
      }
      const std::size_t count = same ? 1 : n;
      if (!same) {
        for (std::size_t o = 0; o < step.operands.size(); ++o) {
          if (step.operands[o] != ProgramSteps::nothing) spread(step.operands[o], step.bytes[o], n);
        }
      }
      const auto operand = [&](std::size_t o) -> const void* {
        return step.operands[o] != ProgramSteps::nothing ? at_[step.operands[o]] : nullptr;
      };
      std::byte* const result = registers_[step.result];
      step.loop(operand(0), operand(1), operand(2), result, count);
      if (step.wrap) step.wrap(result, nullptr, nullptr, result, count);
      at_[step.result] = result;
      held_[step.result] = same ? Held::one : Held::each;
    }
  }
  /// One value for all elements in each of their places.
  void spread(std::uint32_t held, std::size_t bytes, std::size_t n) {
    if (held_[held] != Held::one) return;
    const auto fill = [&]<class Word>(Word) {
      Word* const to = reinterpret_cast<Word*>(at_[held]);
      std::fill_n(to + 1, n - 1, *to);
    };
    with_bytes(bytes, fill);
    held_[held] = Held::filled;
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
    with_bytes(size_of(dtype), body);
  }
  template <class Body>
  static void with_bytes(std::size_t bytes, const Body& body) {
    switch (bytes) {
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
    held_[input.result] = Held::each;
    if (source == nullptr) {
      const Size step = step_of(input.operand);
      if (step == 0 && start.left_in_run() >= n) {
        const std::byte* const one =
            memory_of(input.operand, input.dtype, start.place(input.operand));
        if (load != nullptr) {
          load(one, nullptr, nullptr, own, 1);
        } else {
          std::memcpy(own, one, size_of(input.dtype));
        }
        at_[input.result] = own;
        held_[input.result] = Held::one;
        return;
      }
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
  std::vector<Held> held_;
  std::byte* spare_;
};

}  // namespace tilewright::cpu
