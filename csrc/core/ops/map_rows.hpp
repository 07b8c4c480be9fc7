#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/call.hpp"
#include "core/program/program_data.hpp"
#include "core/requests.hpp"

namespace tilewright {

/// Rows that are reduced and then mapped. Dimensions are as of a FoldRequest, kept ones first.
struct RowsRequest {
  /// A program, none where there is none.
  struct Step {
    Reduction op{};  ///< of a fold
    ProgramRef program;
    std::vector<std::uint64_t> numbers;  ///< bits as elements of their dtypes
  };

  std::string_view call;
  std::vector<Step> folds;
  Step elements, ends;
  Size results = 1, length = 1;  ///< rows, and elements of each
  std::size_t kept = 0, rank = 0;
  std::size_t inputs = 0, outputs = 0;        ///< operands of all programs, and of `elements`
  std::vector<MapRequest::Operand> operands;  ///< inputs, outputs, end outputs
  std::vector<Size> sizes;  ///< rank of the shape, then the strides of each operand: 0 along a row
                            ///< for end outputs

  DType found() const { return folds[0].program->output_dtype(); }
  DType dtype_at(std::size_t operand) const;
  std::span<const Size> shape() const { return std::span(sizes).first(rank); }
  std::span<const Size> strides(std::size_t operand) const {
    return std::span(sizes).subspan((1 + operand) * rank, rank);
  }

  /// By this supports() asks, of small buffers x.
  static void ask(auto& be, const auto& q) {
    constexpr Size n = 8;
    const DType wide = dtype_of(class_of(q.dtype));
    Program fold;
    const Program::Value value = fold.input(q.dtype);
    fold.output(q.dtype == wide ? value : fold.cast(value, wide));
    Program elements;
    const Program::Value element = elements.input(q.dtype);
    elements.input(wide);
    elements.output(element);
    const std::array<RowFold, 1> folds{RowFold{q.kind_or(Reduction::sum), &fold, {}}};
    const std::array<MapOperand, 1> from{q.x[0]}, to{q.x[1]};
    const std::array<Size, 1> shape{n}, axes{0};
    be.map_rows(folds, shape, axes, from, RowProgram{&elements, {}}, to);
  }
};

std::optional<RowsRequest> checked_map_rows(const Call& call, std::span<const RowFold> folds,
                                            std::span<const Size> shape, std::span<const Size> axes,
                                            std::span<const MapOperand> inputs,
                                            const RowProgram& elements,
                                            std::span<const MapOperand> outputs,
                                            const RowProgram& ends,
                                            std::span<const MapOperand> end_outputs);

}  // namespace tilewright
