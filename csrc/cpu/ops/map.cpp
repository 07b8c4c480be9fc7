#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <vector>

#include "core/map_lines.hpp"
#include "core/program/program_data.hpp"
#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/elements.hpp"
#include "cpu/kernels/random_table.hpp"
#include "cpu/program/block_moves.hpp"
#include "cpu/program/block_walk.hpp"
#include "cpu/program/repeated_rows.hpp"
#include "cpu/program/run.hpp"
#include "cpu/program/steps.hpp"
#include "cpu/program/straight_rows.hpp"
#include "cpu/program/tiny_blocks.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

/// Registers that find room on the stack.
constexpr std::size_t few_registers = 12;

/// Whether an operand's elements lie behind those of another one by one, `step` apart, as the
/// imaginary parts of complex numbers behind the real ones.
bool follows(const MapRequest& r, std::uint32_t first, std::uint32_t second, Size step) {
  const MapRequest::Operand& one = r.operands[first];
  const MapRequest::Operand& other = r.operands[second];
  return one.allocation == other.allocation && other.offset == one.offset + 1 &&
         std::ranges::equal(r.strides(first), r.strides(second)) &&
         r.strides(first)[r.rank - 1] == step;
}

/// The real parts of two complex operands, where a program is their product and all lie densely.
std::optional<std::array<std::uint32_t, 2>> complex_product(const MapRequest& r) {
  const ProgramData& program = *r.program;
  const auto& nodes = program.nodes;
  if (program.inputs.size() != 4 || program.outputs.size() != 2 || r.rank != 1) return {};
  const ProgramNode& re = nodes[program.outputs[0]];
  const ProgramNode& im = nodes[program.outputs[1]];
  const auto is_op = [](const ProgramNode& node, ElementOp op) {
    return node.kind == NodeKind::op && node.op == op &&
           (node.dtype == DType::float32 || node.dtype == DType::float64);
  };
  if (!is_op(re, ElementOp::sub_) || !is_op(im, ElementOp::add_)) return {};
  std::array<std::array<std::uint32_t, 2>, 4> factors;
  for (std::size_t i = 0; i < 4; ++i) {
    const ProgramNode& product = nodes[(i < 2 ? re : im).operands[i % 2]];
    if (!is_op(product, ElementOp::mul_)) return {};
    for (std::size_t o = 0; o < 2; ++o) {
      const ProgramNode& factor = nodes[product.operands[o]];
      if (factor.kind != NodeKind::input) return {};
      factors[i][o] = static_cast<std::uint32_t>(factor.bits);
    }
  }
  const auto [x, y] = factors[0];
  for (const auto& [x_im, y_im] : {factors[1], {factors[1][1], factors[1][0]}}) {
    const auto is_of = [&](std::size_t i, std::uint32_t a, std::uint32_t b) {
      return factors[i] == std::array{a, b} || factors[i] == std::array{b, a};
    };
    const bool is_crossed =
        (is_of(2, x, y_im) && is_of(3, x_im, y)) || (is_of(2, x_im, y) && is_of(3, x, y_im));
    if (is_crossed && follows(r, x, x_im, 2) && follows(r, y, y_im, 2) && follows(r, 4, 5, 2)) {
      return std::array{x, y};
    }
  }
  return {};
}

void multiply(const MapRequest& r, const std::array<std::uint32_t, 2>& operands) {
  const DType dtype = r.program->output_dtype();
  const std::size_t size = size_of(dtype);
  const auto multiply = size == 4 ? program_kernels().multiply_32 : program_kernels().multiply_64;
  const auto memory = [&](std::size_t operand) {
    const MapRequest::Operand& one = r.operands[operand];
    return data<std::byte>(one.allocation) + one.offset * static_cast<Size>(size);
  };
  const bool in_place = std::any_of(r.same_as.begin(), r.same_as.end(), [](std::uint32_t output) {
    return output != MapRequest::no_output;
  });
  const auto n = static_cast<std::size_t>(r.n);
  const bool streaming = store_for(2 * n * size, in_place) == Store::streaming;
  std::byte* const x = memory(operands[0]);
  std::byte* const y = memory(operands[1]);
  std::byte* const out = memory(4);
  parallel_for(n, element_grain / 2, [&](std::size_t begin, std::size_t end) {
    const std::size_t first = 2 * size * begin;
    multiply(x + first, y + first, out + first, end - begin, streaming);
  });
}

/// For each of what a program reads or writes: which of the others is the second part of it.
template <class Ends>
std::vector<std::size_t> second_parts(const MapRequest& r, const Ends& ends) {
  std::vector<std::size_t> found(ends.size(), ends.size());
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const bool is_copied =
        program_kernels().loads[index(ends[i].dtype)] == nullptr && size_of(ends[i].dtype) >= 4;
    if (!is_copied) continue;
    for (std::size_t j = 0; j < ends.size(); ++j) {
      const bool is_second =
          ends[j].dtype == ends[i].dtype && follows(r, ends[i].operand, ends[j].operand, 2);
      if (is_second) found[i] = j;
    }
  }
  return found;
}

/// Whether there are four outputs of 4 bytes, whose elements lie one of each in turn.
bool are_in_turn(const MapRequest& r, const ProgramSteps& steps) {
  const auto& all = steps.outputs;
  if (all.size() != 4) return false;
  for (std::size_t i = 0; i < 4; ++i) {
    const bool is_next = i == 0 || follows(r, all[i - 1].operand, all[i].operand, 4);
    if (!is_next || all[i].dtype != all[0].dtype) return false;
  }
  return size_of(all[0].dtype) == 4 && program_kernels().stores[index(all[0].dtype)] == nullptr;
}

/// Whether elements are only moved, to rows whose elements lie side by side.
bool is_move(const MapRequest& r, const ProgramSteps& steps, bool streaming) {
  if (streaming || !steps.steps.empty() || steps.inputs.size() != 1 || steps.outputs.size() != 1) {
    return false;
  }
  const ProgramSteps::Input& input = steps.inputs[0];
  const ProgramSteps::Output& output = steps.outputs[0];
  return output.from == input.result && !input.copied && input.dtype == output.dtype &&
         program_kernels().loads[index(input.dtype)] == nullptr &&
         program_kernels().stores[index(output.dtype)] == nullptr &&
         r.strides(output.operand)[r.rank - 1] == 1;
}

/// Whether rows are better computed one by one: few of them, along which an input's elements lie
/// side by side, so that all others are read and written where they are.
bool takes_rows_apart(const MapRequest& r, const ProgramSteps& steps, const BlockGrid& grid) {
  constexpr Size most_rows = 8, least_row = 256;
  if (grid.row_dim == BlockGrid::no_rows || r.shape()[grid.row_dim] > most_rows ||
      r.shape()[r.rank - 1] < least_row) {
    return false;
  }
  const auto lies_across = [&](const ProgramSteps::Input& input) {
    const std::span<const Size> strides = r.strides(input.operand);
    return strides[grid.row_dim] == 1 && strides[r.rank - 1] > 1 &&
           strides[r.rank - 1] <= most_rows;
  };
  return std::ranges::any_of(steps.inputs, lies_across) &&
         std::ranges::all_of(steps.outputs, [&](const ProgramSteps::Output& output) {
           return r.strides(output.operand)[r.rank - 1] == 1;
         });
}

/// One thread's part of the work.
class Piece {
 public:
  Piece(const MapRequest& r, const BlockGrid& grid, const ProgramSteps& steps, bool streaming,
        std::byte* memory)
      : request_(r),
        grid_(grid),
        steps_(steps),
        streaming_(streaming),
        second_inputs_(second_parts(r, steps.inputs)),
        second_outputs_(second_parts(r, steps.outputs)),
        in_turn_(are_in_turn(r, steps)),
        is_move_(is_move(r, steps, streaming)),
        rows_apart_(takes_rows_apart(r, steps, grid)),
        at_(steps.registers),
        held_(steps.inputs.size()) {
    for (std::uint32_t i = 0; i < steps.registers; ++i) at_[i] = memory + i * register_bytes;
    spare_ = memory + steps.registers * register_bytes;
    for (const ProgramSteps::Fixed& fixed : steps.fixed) fixed.fill(at_[fixed.result], r.numbers);
    registers_ = at_;
  }

  void run(std::size_t begin, std::size_t end) {
    BlockWalk walk(request_, grid_, begin);
    for (; begin < end; ++begin, walk.next()) {
      const std::size_t count = rows_apart_ ? walk.rows() : 1;
      for (row_ = 0; row_ < count; ++row_) run_block(walk);
    }
    if (streaming_) program_kernels().end_stream();
  }

 private:
  void run_block(const BlockWalk& walk) {
    rows_ = rows_apart_ ? 1 : walk.rows();
    cols_ = walk.cols();
    n_ = rows_ * cols_;
    if (is_move_) return move(walk);
    for (std::size_t i = 0; i < steps_.inputs.size(); ++i) {
      if (!read_both(i, walk)) {
        read(steps_.inputs[i], place_of(walk, steps_.inputs[i].operand), held_[i]);
      }
    }
    for (const ProgramSteps::Step& step : steps_.steps) {
      const auto operand = [&](std::size_t o) -> const void* {
        return step.operands[o] != ProgramSteps::nothing ? at_[step.operands[o]] : nullptr;
      };
      std::byte* const result = result_of(step, walk);
      const bool streamed = streaming_ && result != registers_[step.result];
      if (step.with_fixed != nullptr) {
        run_with_fixed(step, result, streamed ? Store::streaming_part : Store::cached);
      } else {
        (streamed ? step.streamed : step.loop)(operand(0), operand(1), operand(2), result, n_);
      }
      if (step.wrap) step.wrap(result, nullptr, nullptr, result, n_);
      at_[step.result] = result;
      for (std::uint32_t i = 1; i < step.results; ++i) {
        at_[step.result + i] = registers_[step.result + i];
      }
    }
    if (in_turn_ && cols_ > 1) return write_in_turn(walk);
    for (std::size_t i = 0; i < steps_.outputs.size(); ++i) {
      const ProgramSteps::Output& output = steps_.outputs[i];
      if (is_written(i, walk) || write_both(i, walk)) continue;
      write(output, place_of(walk, output.operand));
    }
  }
  /// The block's place, or that of the row.
  BlockPlace place_of(const BlockWalk& walk, std::size_t operand) const {
    BlockPlace place = walk.place(operand);
    place.start += static_cast<Size>(row_) * place.row_step;
    return place;
  }
  void move(const BlockWalk& walk) const {
    const ProgramSteps::Input& input = steps_.inputs[0];
    const ProgramSteps::Output& output = steps_.outputs[0];
    const BlockPlace from = place_of(walk, input.operand), to = place_of(walk, output.operand);
    const std::byte* const source = memory_of(input.operand, input.dtype, from.start);
    std::byte* const target = memory_of(output.operand, output.dtype, to.start);
    with_word(size_of(input.dtype), [&]<class Word>(Word) {
      gather(reinterpret_cast<const Word*>(source), from, reinterpret_cast<Word*>(target),
             to.row_step, rows_, cols_);
    });
  }

  /// What a register holds of memory.
  struct Held {
    BlockPlace place{};
    std::size_t rows = 0, cols = 0;

    bool operator==(const Held&) const = default;
  };

  /// Whether a block's elements lie side by side in memory.
  bool is_dense(const BlockPlace& place) const { return lies_densely(place, rows_, cols_); }
  std::byte* memory_of(std::uint32_t operand, DType dtype, Size element) const {
    return data<std::byte>(request_.operands[operand].allocation) +
           element * static_cast<Size>(size_of(dtype));
  }
  /// Where a step's result goes: to an output's own memory where that takes it at once.
  std::byte* result_of(const ProgramSteps::Step& step, const BlockWalk& walk) const {
    if (step.output == ProgramSteps::nothing || (streaming_ && step.streamed == nullptr)) {
      return registers_[step.result];
    }
    const ProgramSteps::Output& output = steps_.outputs[step.output];
    const BlockPlace place = place_of(walk, output.operand);
    return is_dense(place) ? memory_of(output.operand, output.dtype, place.start)
                           : registers_[step.result];
  }

  void run_with_fixed(const ProgramSteps::Step& step, std::byte* result, Store how) const {
    std::array<RowsOperand, 3> from{};
    for (std::size_t o = 0; o < from.size(); ++o) {
      if (step.operands[o] == ProgramSteps::nothing) continue;
      from[o] = {reinterpret_cast<const float*>(at_[step.operands[o]]), 0};
    }
    step.with_fixed(from.data(), {reinterpret_cast<float*>(result), 0}, 1, n_, how);
  }

  /// Whether a block's parts of complex numbers are read and written together.
  bool are_pairs(const BlockPlace& place) const {
    return place.col_step == 2 && !by_columns(place, rows_, cols_);
  }
  /// Reads an input with the other part of the same numbers.
  bool read_both(std::size_t i, const BlockWalk& walk) {
    const std::size_t second = second_inputs_[i];
    if (second == held_.size()) return false;
    const ProgramSteps::Input& input = steps_.inputs[i];
    const BlockPlace place = place_of(walk, input.operand);
    const Held now{place, rows_, cols_},
        other{place_of(walk, steps_.inputs[second].operand), rows_, cols_};
    if (!are_pairs(place) || (held_[i] == now && held_[second] == other)) return false;
    const std::size_t size = size_of(input.dtype);
    const auto split = size == 4 ? program_kernels().split_32 : program_kernels().split_64;
    std::byte* const even = registers_[input.result];
    std::byte* const odd = registers_[steps_.inputs[second].result];
    for (std::size_t row = 0; row < rows_; ++row) {
      split(memory_of(input.operand, input.dtype,
                      place.start + static_cast<Size>(row) * place.row_step),
            even + row * cols_ * size, odd + row * cols_ * size, cols_);
    }
    at_[input.result] = even;
    at_[steps_.inputs[second].result] = odd;
    held_[i] = now;
    held_[second] = other;
    return true;
  }
  /// Whether it is the second part of what write_both() writes.
  bool is_written(std::size_t i, const BlockWalk& walk) const {
    const bool is_second = std::ranges::find(second_outputs_, i) != second_outputs_.end();
    return is_second && are_pairs(place_of(walk, steps_.outputs[i].operand));
  }
  bool write_both(std::size_t i, const BlockWalk& walk) {
    const std::size_t second = second_outputs_[i];
    if (second == steps_.outputs.size()) return false;
    const ProgramSteps::Output& output = steps_.outputs[i];
    const BlockPlace place = place_of(walk, output.operand);
    if (!are_pairs(place)) return false;
    const std::size_t size = size_of(output.dtype);
    const auto join = size == 4 ? program_kernels().join_32 : program_kernels().join_64;
    const std::byte* const even = at_[output.from];
    const std::byte* const odd = at_[steps_.outputs[second].from];
    // What goes past the caches is joined here first, as much as there is room for.
    const std::size_t at_once = streaming_ ? register_bytes / (2 * size) : cols_;
    for (std::size_t row = 0; row < rows_; ++row) {
      std::byte* const memory = memory_of(output.operand, output.dtype,
                                          place.start + static_cast<Size>(row) * place.row_step);
      for (std::size_t col = 0; col < cols_; col += at_once) {
        const std::size_t n = std::min(at_once, cols_ - col), from = (row * cols_ + col) * size;
        std::byte* const to = memory + 2 * col * size;
        join(even + from, odd + from, streaming_ ? spare_ : to, n);
        if (streaming_) program_kernels().stream(spare_, nullptr, nullptr, to, 2 * n * size);
      }
    }
    return true;
  }

  /// Writes outputs of which are_in_turn().
  void write_in_turn(const BlockWalk& walk) {
    const ProgramSteps::Output& output = steps_.outputs[0];
    const BlockPlace place = place_of(walk, output.operand);
    std::array<const void*, 4> parts;
    // What goes past the caches is joined here first, as much as there is room for.
    const std::size_t size = size_of(output.dtype);
    const std::size_t at_once = streaming_ ? register_bytes / (4 * size) : cols_;
    for (std::size_t row = 0; row < rows_; ++row) {
      std::byte* const memory = memory_of(output.operand, output.dtype,
                                          place.start + static_cast<Size>(row) * place.row_step);
      for (std::size_t col = 0; col < cols_; col += at_once) {
        const std::size_t n = std::min(at_once, cols_ - col);
        for (std::size_t i = 0; i < 4; ++i) {
          parts[i] = at_[steps_.outputs[i].from] + (row * cols_ + col) * size;
        }
        std::byte* const to = memory + 4 * col * size;
        random_table().join_four(parts.data(), streaming_ ? spare_ : to, n);
        if (streaming_) program_kernels().stream(spare_, nullptr, nullptr, to, 4 * n * size);
      }
    }
  }

  void read(const ProgramSteps::Input& input, const BlockPlace& place, Held& held) {
    const Held now{place, rows_, cols_};
    if (held == now) return;
    const ProgramLoop load = program_kernels().loads[index(input.dtype)];
    std::byte* const own = registers_[input.result];
    const std::byte* source = memory_of(input.operand, input.dtype, place.start);
    if (!is_dense(place)) {
      std::byte* const gathered = load == nullptr ? own : spare_;
      with_word(size_of(input.dtype), [&]<class Word>(Word) {
        gather(reinterpret_cast<const Word*>(source), place, reinterpret_cast<Word*>(gathered),
               rows_, cols_);
      });
      source = gathered;
    } else if (load == nullptr && !input.copied) {
      at_[input.result] = const_cast<std::byte*>(source);
      held = {};
      return;
    }
    at_[input.result] = own;
    if (load != nullptr) {
      load(source, nullptr, nullptr, own, n_);
    } else if (source != own) {
      std::memcpy(own, source, n_ * size_of(input.dtype));
    }
    held = now;
  }

  void write(const ProgramSteps::Output& output, const BlockPlace& place) {
    const std::size_t size = size_of(output.dtype);
    const ProgramLoop store = program_kernels().stores[index(output.dtype)];
    std::byte* const memory = memory_of(output.operand, output.dtype, place.start);
    const std::byte* values = at_[output.from];
    if (is_dense(place)) {
      if (streaming_ && memory != values) {
        if (store != nullptr) {
          store(values, nullptr, nullptr, spare_, n_);
          values = spare_;
        }
        program_kernels().stream(values, nullptr, nullptr, memory, n_ * size);
      } else if (store != nullptr) {
        store(values, nullptr, nullptr, memory, n_);
      } else if (memory != values) {
        std::memcpy(memory, values, n_ * size);
      }
      return;
    }
    if (store != nullptr) {
      store(values, nullptr, nullptr, spare_, n_);
      values = spare_;
    }
    with_word(size, [&]<class Word>(Word) {
      scatter(reinterpret_cast<const Word*>(values), reinterpret_cast<Word*>(memory), place, rows_,
              cols_);
    });
  }

  const MapRequest& request_;
  const BlockGrid& grid_;
  const ProgramSteps& steps_;
  const bool streaming_;
  const std::vector<std::size_t> second_inputs_, second_outputs_;
  const bool in_turn_;  // whether outputs are four whose elements lie one of each in turn
  const bool is_move_, rows_apart_;
  std::size_t row_ = 0;                      // of the block, where these are taken apart
  std::size_t rows_ = 0, cols_ = 0, n_ = 0;  // of what is computed at a time
  std::vector<std::byte*> at_;               // where each register's elements are now
  std::vector<std::byte*> registers_;
  std::vector<Held> held_;  // of inputs that were copied
  std::byte* spare_;
};

/// Whether outputs go past the caches, which they are too large for.
bool streams(const MapRequest& r, const ProgramSteps& steps) {
  std::size_t bytes = 0;
  for (const ProgramSteps::Output& output : steps.outputs) bytes += size_of(output.dtype);
  const bool in_place = std::any_of(r.same_as.begin(), r.same_as.end(), [](std::uint32_t output) {
    return output != MapRequest::no_output;
  });
  return store_for(bytes * static_cast<std::size_t>(r.n), in_place) == Store::streaming;
}

/// Elements of a block: as many as a register holds, more where none is used, since a single loop
/// goes from memory to memory.
std::size_t block_of(const MapRequest& r, const ProgramSteps& steps, bool streaming) {
  constexpr std::size_t many = 1 << 14;
  const auto is_read_in_place = [](const ProgramSteps::Input& input) {
    return program_kernels().loads[index(input.dtype)] == nullptr && !input.copied;
  };
  if (is_move(r, steps, streaming) && !dimension_of_lines(r)) return many;
  const bool straight = !streaming && r.rank == 1 && steps.fixed.empty() &&
                        steps.steps.size() == 1 && steps.outputs.size() == 1 &&
                        steps.steps[0].output == 0 &&
                        std::all_of(steps.inputs.begin(), steps.inputs.end(), is_read_in_place);
  if (!straight) return program_block;
  for (std::size_t i = 0; i < r.operands.size(); ++i) {
    if (r.strides(i)[0] != 1) return program_block;
  }
  return many;
}

/// Whether some of what a program computes is the same for all elements of a row.
bool has_values_of_rows(const MapRequest& r, const ProgramSteps& steps) {
  constexpr Size least_row = 8;
  const std::size_t last = r.rank - 1;
  if (r.rank < 2 || r.shape()[last] < least_row || steps.steps.size() < 2) return false;
  const bool in_place = std::ranges::any_of(
      r.same_as, [](std::uint32_t output) { return output != MapRequest::no_output; });
  const bool is_random = std::ranges::any_of(
      steps.steps, [](const ProgramSteps::Step& step) { return step.results > 1; });
  if (in_place || is_random || dimension_of_lines(r)) return false;
  return std::ranges::any_of(steps.inputs, [&](const ProgramSteps::Input& input) {
    const std::span<const Size> strides = r.strides(input.operand);
    return strides[last] == 0 && std::ranges::any_of(strides, [](Size s) { return s != 0; });
  });
}

void run_rows(const MapRequest& r, const ProgramSteps& steps, MemoryPool& pool) {
  const std::size_t floats = (steps.registers + 1) * register_bytes / sizeof(float);
  const auto n = static_cast<std::size_t>(r.n);
  OpScratch scratch(pool, "map", floats, std::max<std::size_t>(piece_count(n, element_grain), 1));
  parallel_for(n, element_grain, [&](std::size_t begin, std::size_t end) {
    Scratch own(scratch);
    ProgramRun(r, steps, reinterpret_cast<std::byte*>(own.take(floats))).run(begin, end);
  });
}

}  // namespace

void CpuBackend::do_map(const MapRequest& r) {
  if (const auto operands = complex_product(r)) return multiply(r, *operands);
  const auto planned = plans_.of(r.program, r.same_as);
  const ProgramSteps& steps = *planned;
  if (const auto parts = unfold_repeated_rows(r, steps, *memory_); !parts.empty()) {
    for (const MapRequest& part : parts) CpuBackend::do_map(part);
    return;
  }
  const bool streaming = streams(r, steps);
  if (map_straight_rows(r, steps, streaming)) return;
  if (!streaming && has_values_of_rows(r, steps)) return run_rows(r, steps, *memory_);
  BlockGrid grid(r, block_of(r, steps, streaming));
  if (takes_rows_apart(r, steps, grid)) {
    grid = BlockGrid(r, program_block * static_cast<std::size_t>(r.shape()[grid.row_dim]));
  }
  if (has_tiny_blocks(r, grid)) {
    if (is_move(r, steps, false)) {
      const MapRequest::Operand& to = r.operands[steps.outputs[0].operand];
      const std::size_t bytes = size_of(steps.outputs[0].dtype);
      return write_in_order(r, steps.inputs[0].operand, bytes,
                            data<std::byte>(to.allocation) + to.offset * static_cast<Size>(bytes));
    }
    const auto compute = [&](const MapRequest& part) { CpuBackend::do_map(part); };
    if (each_of_first(r, compute)) return;
    if (const auto parts = in_order(r, *memory_)) return parts->each(compute);
  }
  const bool on_stack = steps.registers <= few_registers;
  const std::size_t floats = (steps.registers + 1) * register_bytes / sizeof(float);
  const std::size_t pieces =
      std::min(grid.count, piece_count(grid.count * grid.elements(), grain_of(steps)));
  OpScratch scratch(*memory_, "map", on_stack ? 0 : floats, pieces);
  parallel_tasks(pieces, [&](std::size_t i) {
    const std::size_t begin = grid.count * i / pieces, end = grid.count * (i + 1) / pieces;
    if (on_stack) {
      alignas(64) std::array<std::byte, (few_registers + 1) * register_bytes> memory;
      Piece(r, grid, steps, streaming, memory.data()).run(begin, end);
    } else {
      Scratch own(scratch);
      Piece(r, grid, steps, streaming, reinterpret_cast<std::byte*>(own.take(floats)))
          .run(begin, end);
    }
  });
}

}  // namespace tilewright::cpu
