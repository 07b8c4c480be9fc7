#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/requests.hpp"
#include "cpu/memory.hpp"
#include "cpu/program/block_moves.hpp"
#include "cpu/program/steps.hpp"

namespace tilewright::cpu {

/// A program on any row of elements of its request, counted row by row through the shape: results
/// stay in registers, or go from there to memory. At most a block at a time.
class ProgramRun {
 public:
  /// `memory` holds steps.registers registers and one more.
  ProgramRun(const MapRequest& request, const ProgramSteps& steps, std::byte* memory)
      : request_(request),
        steps_(steps),
        at_(steps.registers),
        held_(steps.registers),
        dense_(request.operands.size()) {
    for (std::size_t i = 0; i < dense_.size(); ++i) {
      const std::span<const Size> strides = request.strides(i);
      dense_[i] = 1;
      for (std::size_t d = request.rank; d-- > 0;) {
        if (strides[d] != static_cast<Size>(dense_[i])) break;
        dense_[i] *= static_cast<std::size_t>(request.shape()[d]);
      }
    }
    for (std::uint32_t i = 0; i < steps.registers; ++i) at_[i] = memory + i * register_bytes;
    spare_ = memory + steps.registers * register_bytes;
    for (const ProgramSteps::Fixed& fixed : steps.fixed) {
      fixed.fill(at_[fixed.result], request.numbers);
      held_[fixed.result] = Held::filled;
    }
    registers_ = at_;
  }

  /// Writes all outputs of elements begin to end.
  void run(std::size_t begin, std::size_t end) {
    goes_through_registers_ = true;
    for (std::size_t n = 0; begin < end; begin += n) {
      const Walk start(request_, begin);
      n = goes_through_registers_ ? 0 : fitting(begin, end - begin, long_block);
      if (n <= program_block || !lies_straight(start, n)) n = fitting(begin, end - begin);
      goes_through_registers_ = false;
      evaluate(start, n, true);
      for (const ProgramSteps::Output& output : steps_.outputs) {
        spread(output.from, bytes_of(class_of(output.dtype)), n);
        goes_through_registers_ =
            goes_through_registers_ ||
            at_[output.from] != run_of(output.operand, output.dtype, start, n);
        write(output.operand, output.dtype, at_[output.from], start, n);
      }
    }
  }
  /// So many of n elements from `begin` on are best had at a time: whole rows of the last dimension
  /// where a block has room for them.
  std::size_t fitting(std::size_t begin, std::size_t n, std::size_t block = program_block) const {
    const auto length = static_cast<std::size_t>(request_.shape()[request_.rank - 1]);
    const std::size_t most = std::min(n, block);
    if (length >= most) return std::min(most, length - begin % length);
    if (begin % length != 0) return length - begin % length;
    const std::size_t rows = most / length;
    return (block == program_block ? rows : std::min(rows, most_rows)) * length;
  }
  /// The first output of the next n elements, as its class has it. It may lie in the memory of an
  /// input.
  const std::byte* values(std::size_t begin, std::size_t n) {
    evaluate(Walk(request_, begin), n, false);
    const ProgramSteps::Output& output = steps_.outputs[0];
    spread(output.from, bytes_of(class_of(output.dtype)), n);
    return at_[output.from];
  }
  /// The memory of the first element, where values are those of an input of float32 as they are;
  /// else null. Element by element they lie at steps of strides().
  const float* plain(std::size_t begin) const {
    const bool is_plain = steps_.steps.empty() && steps_.inputs.size() == 1 &&
                          steps_.inputs[0].dtype == DType::float32 && !steps_.inputs[0].copied;
    if (!is_plain) return nullptr;
    const std::uint32_t operand = steps_.inputs[0].operand;
    return reinterpret_cast<const float*>(
        memory_of(operand, DType::float32, Walk(request_, begin).place(operand)));
  }
  /// Some of the next n of them: whole rows of the last dimension, or the part of one.
  struct PlainRows {
    const float* first;
    std::size_t rows, columns;
    Size step;  ///< from one row to the next
  };
  PlainRows plain_rows(std::size_t begin, std::size_t n) const {
    const Walk walk(request_, begin);
    const std::size_t rows = walk.whole_rows(n), columns = walk.left_in_run();
    const Size step = request_.rank > 1 ? strides()[request_.rank - 2] : 0;
    return {plain(begin), std::max<std::size_t>(rows, 1), rows > 0 ? columns : std::min(n, columns),
            step};
  }
  std::span<const Size> strides() const { return request_.strides(steps_.inputs[0].operand); }
  std::span<const Size> shape() const { return request_.shape(); }
  std::size_t row_length() const {
    return static_cast<std::size_t>(request_.shape()[request_.rank - 1]);
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
    Walk(const MapRequest& r, std::size_t start) : request_(r), start_(start) {
      auto rest = static_cast<Size>(start);
      for (std::size_t d = r.rank; d-- > 0;) {
        index_[d] = rest % r.shape()[d];
        rest /= r.shape()[d];
      }
    }
    // Most shapes have few of the dimensions that there is room for.
    Walk(const Walk& other) : request_(other.request_), start_(other.start_) {
      std::copy_n(other.index_.begin(), request_.rank, index_.begin());
    }
    Walk& operator=(const Walk&) = delete;

    std::size_t left_in_run() const {
      const std::size_t last = request_.rank - 1;
      return static_cast<std::size_t>(request_.shape()[last] - index_[last]);
    }
    /// The element that it started from.
    std::size_t start() const { return start_; }
    bool is_at_row() const { return index_[request_.rank - 1] == 0; }
    /// Rows of the last dimension from here on that lie along the one before, of n elements.
    std::size_t whole_rows(std::size_t n) const {
      const std::size_t last = request_.rank - 1;
      if (request_.rank < 2 || index_[last] != 0) return 0;
      const auto left = static_cast<std::size_t>(request_.shape()[last - 1] - index_[last - 1]);
      return std::min(left, n / static_cast<std::size_t>(request_.shape()[last]));
    }
    void advance_rows(std::size_t rows) {
      std::size_t d = request_.rank - 2;
      index_[d] += static_cast<Size>(rows);
      while (d > 0 && index_[d] == request_.shape()[d]) {
        index_[d] = 0;
        ++index_[--d];
      }
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
    const std::size_t start_;
    std::array<Size, max_rank> index_;
  };

  static constexpr std::size_t most_chain = 6;  // steps
  /// Elements, and their rows, of a block of which registers hold values of rows alone.
  static constexpr std::size_t long_block = 1 << 14, most_rows = 96;

  /// What a register has: an element each, one for each row of the last dimension, one for all of
  /// them in its first place, or the same in all places.
  enum class Held : std::uint8_t { each, rows, one, filled };

  /// With `to_memory` the last step may write an output at once.
  void evaluate(const Walk& start, std::size_t n, bool to_memory) {
    columns_ = start.left_in_run();
    rows_ = start.is_at_row() && n % columns_ == 0 ? n / columns_ : 0;
    for (const ProgramSteps::Input& input : steps_.inputs) read(input, start, n);
    for (std::size_t i = 0; i < steps_.steps.size(); ++i) {
      if (const std::size_t taken = take_chain(i, start, n, to_memory); taken > 0) {
        i += taken - 1;
        continue;
      }
      const ProgramSteps::Step& step = steps_.steps[i];
      Held held = step.results == 1 ? Held::one : Held::each;
      for (const std::uint32_t operand : step.operands) {
        if (operand != ProgramSteps::nothing) held = std::min(held, held_[operand]);
      }
      std::byte* const result =
          held == Held::each ? result_of(step, start, n, to_memory) : registers_[step.result];
      if (held == Held::each && take_rows(step, result, n)) continue;
      const std::size_t count = held == Held::each ? n : held == Held::rows ? rows_ : 1;
      for (std::size_t o = 0; o < step.operands.size(); ++o) {
        const std::uint32_t operand = step.operands[o];
        if (operand == ProgramSteps::nothing) continue;
        if (held == Held::each && held_[operand] != Held::each) goes_through_registers_ = true;
        if (held == Held::each || (held == Held::rows && held_[operand] == Held::one)) {
          spread(operand, step.bytes[o], n);
        }
      }
      const auto operand = [&](std::size_t o) -> const void* {
        return step.operands[o] != ProgramSteps::nothing ? at_[step.operands[o]] : nullptr;
      };
      step.loop(operand(0), operand(1), operand(2), result, count);
      if (step.wrap) step.wrap(result, nullptr, nullptr, result, count);
      at_[step.result] = result;
      held_[step.result] = held;
    }
  }
  /// Where a result of an element each goes: to an output's memory from the last step.
  std::byte* result_of(const ProgramSteps::Step& step, const Walk& start, std::size_t n,
                       bool to_memory) {
    const bool is_last = &step == &steps_.steps.back() && step.output != ProgramSteps::nothing;
    if (to_memory && is_last) {
      const ProgramSteps::Output& output = steps_.outputs[step.output];
      std::byte* const memory = run_of(output.operand, output.dtype, start, n);
      if (memory != nullptr) return memory;
    }
    goes_through_registers_ = true;
    return registers_[step.result];
  }
  /// Sums, differences and products from a step on, each of the one before and of what is the same
  /// for all elements of a row, in one walk; how many steps it took.
  std::size_t take_chain(std::size_t first, const Walk& start, std::size_t n, bool to_memory) {
    using Affine = ProgramSteps::Affine;
    if (steps_.steps[first].affine == Affine::no || !steps_.steps[first].feeds_next) return 0;
    const auto is_each = [&](std::uint32_t operand) { return held_[operand] == Held::each; };
    const std::array<std::uint32_t, 3>& begin = steps_.steps[first].operands;
    if (is_each(begin[0]) == is_each(begin[1])) return 0;
    const std::uint32_t each = is_each(begin[0]) ? begin[0] : begin[1];

    std::array<std::uint32_t, most_chain> few;
    std::array<bool, most_chain> is_turned;  // whether what came before is the second operand
    std::size_t taken = 0;
    bool by_rows = false;
    for (; first + taken < steps_.steps.size() && taken < most_chain; ++taken) {
      const ProgramSteps::Step& step = steps_.steps[first + taken];
      const std::uint32_t before = taken == 0 ? each : steps_.steps[first + taken - 1].result;
      if (step.affine == Affine::no || (taken > 0 && !steps_.steps[first + taken - 1].feeds_next)) {
        break;
      }
      is_turned[taken] = step.operands[0] != before;
      few[taken] = step.operands[is_turned[taken] ? 0 : 1];
      // A register of what came before may be the other operand's of before.
      if (few[taken] == before || is_each(few[taken])) break;
      by_rows = by_rows || held_[few[taken]] == Held::rows;
    }
    const std::size_t rows = by_rows ? rows_ : 1, columns = by_rows ? columns_ : n;
    if (taken < 2 || 2 * most_stages * rows > program_block) return 0;

    std::array<RowsStage, most_stages> stages;
    std::size_t count = 0;
    float* room = reinterpret_cast<float*>(spare_);
    for (std::size_t i = 0; i < taken; ++i) {
      const Affine affine = steps_.steps[first + i].affine;
      const float* const values = reinterpret_cast<const float*>(at_[few[i]]);
      // A sum behind a product is one stage with it.
      const bool is_behind = i > 0 && steps_.steps[first + i - 1].affine == Affine::product &&
                             affine != Affine::product && !is_turned[i];
      if (!is_behind && count == most_stages) {
        taken = i;
        break;
      }
      if (!is_behind) {
        stages[count++] = {room, room + rows};
        room += 2 * rows;
      }
      float* const factors = const_cast<float*>(stages[count - 1].factors);
      float* const addends = const_cast<float*>(stages[count - 1].addends);
      const auto give = [&](float* to, float sign) {
        if (held_[few[i]] != Held::rows) return void(std::fill_n(to, rows, sign * *values));
        for (std::size_t row = 0; row < rows; ++row) to[row] = sign * values[row];
      };
      if (affine == Affine::product) {
        give(factors, 1.0f);
        std::fill_n(addends, rows, -0.0f);  // leaves zeros their sign
        continue;
      }
      give(addends, affine == Affine::difference && !is_turned[i] ? -1.0f : 1.0f);
      if (is_behind) continue;
      std::fill_n(factors, rows, affine == Affine::difference && is_turned[i] ? -1.0f : 1.0f);
    }
    const ProgramSteps::Step& last = steps_.steps[first + taken - 1];
    std::byte* const result = result_of(last, start, n, to_memory);
    const auto step = static_cast<std::ptrdiff_t>(columns);
    program_kernels().stages({reinterpret_cast<const float*>(at_[each]), step}, stages.data(),
                             count, {reinterpret_cast<float*>(result), step}, rows, columns);
    at_[last.result] = result;
    held_[last.result] = Held::each;
    return taken;
  }
  /// An op of operands that have an element each and of some that have fewer, where there is a
  /// loop that takes them so; whether there was.
  bool take_rows(const ProgramSteps::Step& step, std::byte* result, std::size_t n) {
    if (step.rows == nullptr) return false;
    unsigned ones = 0;
    bool by_rows = false;
    for (std::size_t o = 0; o < step.operands.size(); ++o) {
      const std::uint32_t operand = step.operands[o];
      if (operand == ProgramSteps::nothing || held_[operand] == Held::each) continue;
      ones |= 1U << o;
      by_rows = by_rows || held_[operand] == Held::rows;
    }
    const RowsLoop loop = ones != 0 ? (*step.rows)[ones] : nullptr;
    if (loop == nullptr) return false;
    const std::size_t rows = by_rows ? rows_ : 1, columns = by_rows ? columns_ : n;
    const auto step_of_rows = static_cast<std::ptrdiff_t>(columns);
    std::array<RowsOperand, 3> from{};
    for (std::size_t o = 0; o < from.size(); ++o) {
      const std::uint32_t operand = step.operands[o];
      if (operand == ProgramSteps::nothing) continue;
      const bool is_row = held_[operand] == Held::rows, is_one = (ones >> o & 1) != 0;
      const std::byte* values = at_[operand];
      if (is_one && values == result) {
        std::memcpy(spare_, values, (is_row ? rows : 1) * sizeof(float));
        values = spare_;
      }
      from[o] = {reinterpret_cast<const float*>(values), is_one ? is_row ? 1 : 0 : step_of_rows};
    }
    loop(from.data(), {reinterpret_cast<float*>(result), step_of_rows}, rows, columns,
         Store::cached);
    at_[step.result] = result;
    held_[step.result] = Held::each;
    return true;
  }
  /// One value for all elements, or for those of each row, in each of their n places.
  void spread(std::uint32_t held, std::size_t bytes, std::size_t n) {
    if (held_[held] != Held::one && held_[held] != Held::rows) return;
    goes_through_registers_ = true;
    const bool by_rows = held_[held] == Held::rows;
    const std::size_t rows = by_rows ? rows_ : 1;
    std::memcpy(spare_, at_[held], rows * bytes);
    with_word(bytes, [&]<class Word>(Word) {
      gather(reinterpret_cast<const Word*>(spare_), BlockPlace{0, 1, 0},
             reinterpret_cast<Word*>(at_[held]), rows, by_rows ? columns_ : n);
    });
    held_[held] = by_rows ? Held::each : Held::filled;
  }

  std::byte* memory_of(std::uint32_t operand, DType dtype, Size place) const {
    return data<std::byte>(request_.operands[operand].allocation) +
           place * static_cast<Size>(size_of(dtype));
  }
  Size step_of(std::uint32_t operand) const { return request_.strides(operand)[request_.rank - 1]; }
  /// An operand's own memory, where its next elements lie side by side.
  std::byte* run_of(std::uint32_t operand, DType dtype, const Walk& start, std::size_t n) const {
    if (step_of(operand) != 1) return nullptr;
    const std::size_t dense = dense_[operand];
    if (start.left_in_run() < n && (dense < n || dense - start.start() % dense < n)) return nullptr;
    return memory_of(operand, dtype, start.place(operand));
  }

  /// Whether the next elements of all operands lie side by side, or are one for each row.
  bool lies_straight(const Walk& start, std::size_t n) const {
    const auto is_run = [&](std::uint32_t operand, DType dtype) {
      return run_of(operand, dtype, start, n) != nullptr;
    };
    return std::ranges::all_of(steps_.inputs,
                               [&](const ProgramSteps::Input& input) {
                                 return step_of(input.operand) == 0 ||
                                        is_run(input.operand, input.dtype);
                               }) &&
           std::ranges::all_of(steps_.outputs, [&](const ProgramSteps::Output& output) {
             return is_run(output.operand, output.dtype);
           });
  }

  /// Calls body(memory, element, place, rows, columns) for blocks of whole rows along the last
  /// dimension, and for parts of one.
  template <class Body>
  void for_blocks(Walk walk, std::uint32_t operand, DType dtype, std::size_t n,
                  const Body& body) const {
    const Size row_step =
        request_.rank > 1 ? request_.strides(operand)[request_.rank - 2] : Size{0};
    const BlockPlace place{0, row_step, step_of(operand)};
    for (std::size_t done = 0; done < n;) {
      std::byte* const memory = memory_of(operand, dtype, walk.place(operand));
      std::size_t rows = walk.whole_rows(n - done), columns = walk.left_in_run();
      if (rows > 0) {
        walk.advance_rows(rows);
      } else {
        rows = 1;
        columns = std::min(n - done, columns);
        walk.advance(columns);
      }
      body(memory, done, place, rows, columns);
      done += rows * columns;
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
      if (step == 0 && rows_ > 1) return read_rows(input, start, n);
      goes_through_registers_ = true;
      std::byte* const gathered = load == nullptr ? own : spare_;
      with_word(size_of(input.dtype), [&]<class Word>(Word) {
        Word* const to = reinterpret_cast<Word*>(gathered);
        for_blocks(start, input.operand, input.dtype, n,
                   [&](const std::byte* memory, std::size_t done, const BlockPlace& place,
                       std::size_t rows, std::size_t columns) {
                     gather(reinterpret_cast<const Word*>(memory), place, to + done, rows, columns);
                   });
      });
      source = gathered;
    } else if (load == nullptr) {
      at_[input.result] = const_cast<std::byte*>(source);
      return;
    }
    goes_through_registers_ = true;
    at_[input.result] = own;
    if (load != nullptr) load(source, nullptr, nullptr, own, n);
  }

  /// An input that has one element for each row.
  void read_rows(const ProgramSteps::Input& input, const Walk& start, std::size_t n) {
    const ProgramLoop load = program_kernels().loads[index(input.dtype)];
    std::byte* const own = registers_[input.result];
    with_word(size_of(input.dtype), [&]<class Word>(Word) {
      Word* to = reinterpret_cast<Word*>(load == nullptr ? own : spare_);
      for_blocks(start, input.operand, input.dtype, n,
                 [&](const std::byte* memory, std::size_t, const BlockPlace& place,
                     std::size_t rows, std::size_t) {
                   const Word* const x = reinterpret_cast<const Word*>(memory);
                   if (place.row_step == 1) {
                     to = std::copy_n(x, rows, to);
                     return;
                   }
                   for (std::size_t i = 0; i < rows; ++i) {
                     *to++ = x[static_cast<Size>(i) * place.row_step];
                   }
                 });
    });
    if (load != nullptr) load(spare_, nullptr, nullptr, own, rows_);
    at_[input.result] = own;
    held_[input.result] = Held::rows;
  }

  void write(std::uint32_t operand, DType dtype, const std::byte* values, const Walk& start,
             std::size_t n) {
    const ProgramLoop store = program_kernels().stores[index(dtype)];
    if (std::byte* const run = run_of(operand, dtype, start, n)) {
      if (store != nullptr) {
        store(values, nullptr, nullptr, run, n);
      } else if (run != values) {
        std::memcpy(run, values, n * size_of(dtype));
      }
      return;
    }
    if (store != nullptr) {
      store(values, nullptr, nullptr, spare_, n);
      values = spare_;
    }
    with_word(size_of(dtype), [&]<class Word>(Word) {
      const Word* const x = reinterpret_cast<const Word*>(values);
      for_blocks(start, operand, dtype, n,
                 [&](std::byte* memory, std::size_t done, const BlockPlace& place, std::size_t rows,
                     std::size_t columns) {
                   scatter(x + done, reinterpret_cast<Word*>(memory), place, rows, columns);
                 });
    });
  }

  const MapRequest& request_;
  const ProgramSteps& steps_;
  std::vector<std::byte*> at_;  // where each register's elements are now
  std::vector<std::byte*> registers_;
  bool goes_through_registers_ = true;  // whether a block's elements, not just values of rows, do
  std::size_t rows_ = 0, columns_ = 0;  // of the last dimension, where a block is whole ones
  std::vector<Held> held_;
  std::vector<std::size_t> dense_;  // of each operand the elements that lie side by side
  std::byte* spare_;
};

}  // namespace tilewright::cpu
