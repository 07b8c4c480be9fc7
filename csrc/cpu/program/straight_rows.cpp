#include "cpu/program/straight_rows.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>

#include "core/map_lines.hpp"
#include "core/program/program_data.hpp"
#include "cpu/elements.hpp"
#include "cpu/memory.hpp"
#include "cpu/program/block_moves.hpp"
#include "cpu/program/block_walk.hpp"

namespace tilewright::cpu {

namespace {

/// Elements of a block of rows.
constexpr std::size_t block_elements = 1 << 14;
/// Rows that are long enough for vectors, for a call of their own, and to go past the caches.
constexpr Size short_row = 8, long_row = 64, streamed_row = 256;

/// Elements of a block that has operands to gather.
constexpr std::size_t gathered_elements = 1 << 10;

/// An operand of the op: of the request, or a number.
struct RowOperand {
  std::uint32_t operand = ProgramSteps::nothing;
  float number = 0;
  bool is_one = true;        ///< for a whole row
  bool is_gathered = false;  ///< since its elements lie apart
};

std::optional<RowOperand> operand_of(const MapRequest& r, const ProgramSteps& steps,
                                     std::uint32_t held) {
  for (const ProgramSteps::Input& input : steps.inputs) {
    if (input.result != held) continue;
    const Size step = r.strides(input.operand)[r.rank - 1];
    const bool is_read_in_place =
        program_kernels().loads[index(input.dtype)] == nullptr && !input.copied;
    if (!is_read_in_place) return {};
    const bool lies_apart = step < 0 || step > 1;
    if (lies_apart && input.dtype != DType::float32) return {};
    return RowOperand{input.operand, 0, step == 0, lies_apart};
  }
  for (const ProgramSteps::Fixed& fixed : steps.fixed) {
    if (fixed.result != held || fixed.dtype != DType::float32) continue;
    RowOperand number;
    const std::uint64_t bits = fixed.of(r.numbers);
    std::memcpy(&number.number, &bits, sizeof number.number);
    return number;
  }
  return {};
}

/// The dimension of rows, where all that lie apart are few columns, narrower than a line of a
/// cache, turned: squares of vectors then read them once.
std::optional<std::size_t> dimension_of_few(const MapRequest& r,
                                            const std::array<RowOperand, 3>& operands) {
  constexpr Size fewest = 8, least_row = 128;
  if (r.rank < 2 || r.shape()[r.rank - 1] < least_row) return {};
  for (const RowOperand& one : operands) {
    if (!one.is_gathered) continue;
    const std::span<const Size> strides = r.strides(one.operand);
    if (strides[r.rank - 2] != 1 || strides[r.rank - 1] < fewest) return {};
  }
  return r.shape()[r.rank - 2] >= fewest ? std::optional(r.rank - 2) : std::nullopt;
}

}  // namespace

bool map_straight_rows(const MapRequest& r, const ProgramSteps& steps, bool streaming) {
  if (steps.steps.size() != 1 || steps.outputs.size() != 1) return false;
  const ProgramSteps::Step& step = steps.steps[0];
  const ProgramSteps::Output& output = steps.outputs[0];
  const bool is_written_at_once = step.output == 0 && step.wrap == nullptr && step.results == 1 &&
                                  r.strides(output.operand)[r.rank - 1] == 1;
  const Size length = r.shape()[r.rank - 1];
  if (!is_written_at_once) return false;

  const ProgramNode& node = r.program->nodes[step.node];
  std::array<RowOperand, 3> operands;
  unsigned ones = 0;
  bool gathers = false;
  for (std::uint32_t o = 0; o < node.operand_count(); ++o) {
    const std::optional<RowOperand> one = operand_of(r, steps, step.operands[o]);
    if (!one) return false;
    operands[o] = *one;
    if (one->is_one) ones |= 1U << o;
    gathers = gathers || one->is_gathered;
  }
  std::optional<std::size_t> lines = dimension_of_lines(r);
  if (gathers && !lines) lines = dimension_of_few(r, operands);
  if (gathers != lines.has_value()) return false;
  const RowsLoop loop = step.rows != nullptr ? (*step.rows)[ones] : nullptr;
  if (gathers) {
    if (loop == nullptr || streaming) return false;
  } else if (length < short_row ||
             (loop == nullptr && (ones != 0 || r.rank == 1 || length < long_row))) {
    return false;
  }

  const bool past_caches = streaming && length >= streamed_row;
  const ProgramLoop row_loop = past_caches && step.streamed != nullptr ? step.streamed : step.loop;
  const BlockGrid grid(r, gathers ? gathered_elements : block_elements, lines);
  const std::size_t pieces =
      std::min(grid.count, piece_count(grid.count * grid.elements(), grain_of(steps)));
  parallel_tasks(pieces, [&](std::size_t piece) {
    const std::size_t begin = grid.count * piece / pieces, end = grid.count * (piece + 1) / pieces;
    alignas(64) std::array<std::array<float, gathered_elements>, 3> gathered;
    BlockWalk walk(r, grid, begin);
    for (std::size_t block = begin; block < end; ++block, walk.next()) {
      const auto row_of = [&](std::uint32_t operand, DType dtype, std::size_t row) {
        const BlockPlace place = walk.place(operand);
        return data<std::byte>(r.operands[operand].allocation) +
               (place.start + static_cast<Size>(row) * place.row_step) *
                   static_cast<Size>(size_of(dtype));
      };
      if (loop == nullptr) {
        for (std::size_t row = 0; row < walk.rows(); ++row) {
          std::array<const void*, 3> from{};
          for (std::uint32_t o = 0; o < node.operand_count(); ++o) {
            const DType dtype = r.program->nodes[node.operands[o]].dtype;
            from[o] = row_of(operands[o].operand, dtype, row);
          }
          row_loop(from[0], from[1], from[2], row_of(output.operand, output.dtype, row),
                   walk.cols());
        }
        continue;
      }
      const auto rows_of = [&](const RowOperand& one, float* room) {
        if (one.operand == ProgramSteps::nothing) return RowsOperand{&one.number, 0};
        const BlockPlace place = walk.place(one.operand);
        const auto* const first =
            reinterpret_cast<const float*>(row_of(one.operand, DType::float32, 0));
        if (!one.is_gathered) return RowsOperand{first, place.row_step};
        gather(reinterpret_cast<const std::uint32_t*>(first), place,
               reinterpret_cast<std::uint32_t*>(room), walk.rows(), walk.cols());
        return RowsOperand{room, static_cast<Size>(walk.cols())};
      };
      const RowsResult result{reinterpret_cast<float*>(row_of(output.operand, DType::float32, 0)),
                              walk.place(output.operand).row_step};
      std::array<RowsOperand, 3> from{};
      const Size cols = static_cast<Size>(walk.cols());
      bool is_one_row = ones == 0 && result.step == cols;
      for (std::uint32_t o = 0; o < node.operand_count(); ++o) {
        from[o] = rows_of(operands[o], gathered[o].data());
        is_one_row = is_one_row && from[o].step == cols;
      }
      loop(from.data(), result, is_one_row ? 1 : walk.rows(),
           is_one_row ? walk.rows() * walk.cols() : walk.cols(),
           past_caches ? Store::streaming_part : Store::cached);
    }
    if (past_caches) program_kernels().end_stream();
  });
  return true;
}

}  // namespace tilewright::cpu
