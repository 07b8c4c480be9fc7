#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include "core/program/program_data.hpp"
#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/block_walk.hpp"
#include "cpu/elements.hpp"
#include "cpu/program_steps.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

/// Registers that find room on the stack.
constexpr std::size_t few_registers = 12;

/// Calls body with a word of so many bytes.
template <class Body>
void with_word(std::size_t bytes, const Body& body) {
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

/// Whether a block's elements are better gone through column by column: those of a column lie
/// nearer to each other in memory, or rows are too short for a loop.
bool by_columns(const BlockPlace& place, std::size_t rows, std::size_t cols) {
  const auto magnitude = [](Size x) { return x < 0 ? -x : x; };
  constexpr std::size_t short_row = 8;
  return rows > 1 && (magnitude(place.row_step) < magnitude(place.col_step) ||
                      (cols < short_row && cols < rows));
}

/// A block's elements, side by side.
template <class T>
void gather(const T* from, const BlockPlace& place, T* to, std::size_t rows, std::size_t cols) {
  const auto at = [&](std::size_t row, std::size_t col) {
    return from + static_cast<Size>(row) * place.row_step + static_cast<Size>(col) * place.col_step;
  };
  if (by_columns(place, rows, cols)) {
    for (std::size_t col = 0; col < cols; ++col) {
      const T* const x = at(0, col);
      if (place.row_step == 1) {
        // No prefetcher sees the next block coming.
        const T* const next = x + static_cast<Size>(cols) * place.col_step;
        for (std::size_t row = 0; row < rows; row += 64 / sizeof(T)) __builtin_prefetch(next + row);
        for (std::size_t row = 0; row < rows; ++row) to[row * cols + col] = x[row];
      } else {
        for (std::size_t row = 0; row < rows; ++row) {
          to[row * cols + col] = x[static_cast<Size>(row) * place.row_step];
        }
      }
    }
    return;
  }
  for (std::size_t row = 0; row < rows; ++row) {
    const T* const x = at(row, 0);
    T* const y = to + row * cols;
    if (place.col_step == 1) {
      std::memcpy(y, x, cols * sizeof(T));
    } else if (place.col_step == 0) {
      std::fill_n(y, cols, *x);
    } else if (place.col_step == 2) {
      // The parts of complex numbers; a step that compilers know makes vectors.
      for (std::size_t col = 0; col < cols; ++col) y[col] = x[2 * col];
    } else {
      for (std::size_t col = 0; col < cols; ++col)
        y[col] = x[static_cast<Size>(col) * place.col_step];
    }
  }
}
template <class T>
void scatter(const T* from, T* to, const BlockPlace& place, std::size_t rows, std::size_t cols) {
  const auto at = [&](std::size_t row, std::size_t col) {
    return to + static_cast<Size>(row) * place.row_step + static_cast<Size>(col) * place.col_step;
  };
  if (by_columns(place, rows, cols)) {
    for (std::size_t col = 0; col < cols; ++col) {
      T* const y = at(0, col);
      if (place.row_step == 1) {
        for (std::size_t row = 0; row < rows; ++row) y[row] = from[row * cols + col];
      } else {
        for (std::size_t row = 0; row < rows; ++row) {
          y[static_cast<Size>(row) * place.row_step] = from[row * cols + col];
        }
      }
    }
    return;
  }
  for (std::size_t row = 0; row < rows; ++row) {
    const T* const x = from + row * cols;
    T* const y = at(row, 0);
    if (place.col_step == 1) {
      std::memcpy(y, x, cols * sizeof(T));
    } else {
      for (std::size_t col = 0; col < cols; ++col)
        y[static_cast<Size>(col) * place.col_step] = x[col];
    }
  }
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
        at_(steps.registers),
        held_(steps.inputs.size()) {
    for (std::uint32_t i = 0; i < steps.registers; ++i) at_[i] = memory + i * register_bytes;
    spare_ = memory + steps.registers * register_bytes;
    for (const ProgramSteps::Fixed& fixed : steps.fixed) fixed.fill(at_[fixed.result]);
    registers_ = at_;
  }

  void run(std::size_t begin, std::size_t end) {
    BlockWalk walk(request_, grid_, begin);
    for (; begin < end; ++begin) {
      rows_ = walk.rows();
      cols_ = walk.cols();
      n_ = rows_ * cols_;
      for (std::size_t i = 0; i < steps_.inputs.size(); ++i) {
        read(steps_.inputs[i], walk.place(steps_.inputs[i].operand), held_[i]);
      }
      for (const ProgramSteps::Step& step : steps_.steps) {
        const auto operand = [&](std::size_t o) -> const void* {
          return step.operands[o] != ProgramSteps::nothing ? at_[step.operands[o]] : nullptr;
        };
        std::byte* const result = result_of(step, walk);
        const bool streamed = streaming_ && result != registers_[step.result];
        (streamed ? step.streamed : step.loop)(operand(0), operand(1), operand(2), result, n_);
        if (step.wrap) step.wrap(result, nullptr, nullptr, result, n_);
        at_[step.result] = result;
      }
      for (const ProgramSteps::Output& output : steps_.outputs) {
        write(output, walk.place(output.operand));
      }
      walk.next();
    }
    if (streaming_) program_kernels().end_stream();
  }

 private:
  /// What a register holds of memory.
  struct Held {
    BlockPlace place{};
    std::size_t rows = 0, cols = 0;

    bool operator==(const Held&) const = default;
  };

  /// Whether a block's elements lie side by side in memory.
  bool is_dense(const BlockPlace& place) const {
    return (place.col_step == 1 || cols_ == 1) &&
           (rows_ == 1 || place.row_step == static_cast<Size>(cols_));
  }
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
    const BlockPlace place = walk.place(output.operand);
    return is_dense(place) ? memory_of(output.operand, output.dtype, place.start)
                           : registers_[step.result];
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
  std::size_t rows_ = 0, cols_ = 0, n_ = 0;  // of the block
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

}  // namespace

void CpuBackend::do_map(const MapRequest& r) {
  const ProgramSteps steps = plan_steps(*r.program, r.numbers, r.same_as);
  const bool streaming = streams(r, steps);
  const BlockGrid grid(r, block_of(r, steps, streaming));
  const bool on_stack = steps.registers <= few_registers;
  const std::size_t floats = (steps.registers + 1) * register_bytes / sizeof(float);
  const std::size_t pieces =
      std::min(grid.count, piece_count(grid.count * grid.elements(), element_grain));
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
