#include <cstddef>
#include <cstdint>
#include <span>

#include "cpu/memory.hpp"
#include "cpu/row_reader.hpp"
#include "cpu/softmax.hpp"

namespace tilewright::cpu {

namespace {

/// The element less what the first fold found.
bool is_off_first(const RowReader& program, std::uint32_t node) {
  const std::uint32_t* const off = program.of(node, ElementOp::sub_);
  return off != nullptr && program.is_element(off[0]) && program.is_found(off[1], 0);
}

bool is_log_softmax(const RowsRequest& r) {
  if (r.inputs != 1 || r.outputs != 1 || r.folds.size() != 2 || !r.elements.program ||
      r.ends.program || r.folds[0].op != Reduction::max || r.folds[1].op != Reduction::sum) {
    return false;
  }
  const RowReader first(*r.folds[0].program, 1), second(*r.folds[1].program, 1),
      last(*r.elements.program, 1);
  if (!first.is_element(r.folds[0].program->outputs[0])) return false;
  const std::uint32_t* const power = second.of(second.result(), ElementOp::exp_);
  if (power == nullptr || !is_off_first(second, power[0])) return false;
  const std::uint32_t* const off = last.of(last.result(), ElementOp::sub_);
  if (off == nullptr || !is_off_first(last, off[0])) return false;
  const std::uint32_t* const log = last.of(off[1], ElementOp::log_);
  return log != nullptr && last.is_found(log[0], 1);
}

/// Whether an operand's elements lie densely, rows along the second of three dimensions.
bool lies_densely(const RowsRequest& r, std::size_t operand, std::size_t inner) {
  const std::span<const Size> strides = r.strides(operand);
  const auto step = static_cast<Size>(inner);
  if (strides[r.kept] != step && r.length > 1) return false;
  std::size_t outer = r.kept;
  if (inner > 1) {
    if (strides[r.kept - 1] != 1) return false;
    --outer;
  }
  return outer == 0 || (outer == 1 && (strides[0] == step * r.length || r.shape()[0] == 1));
}

}  // namespace

bool takes_log_softmax(const RowsRequest& r) {
  if (r.rank != r.kept + 1 || r.kept > 2 || !is_log_softmax(r)) return false;
  const DType dtype = r.dtype_at(0);
  if (r.dtype_at(1) != dtype) return false;
  // Where the last of the kept dimensions lies inside of the rows.
  const bool is_inside = r.kept > 0 && r.strides(0)[r.kept - 1] == 1 && r.strides(0)[r.kept] != 1;
  const auto inner = static_cast<std::size_t>(is_inside ? r.shape()[r.kept - 1] : 1);
  if (!lies_densely(r, 0, inner) || !lies_densely(r, 1, inner)) return false;
  const auto memory = [&](std::size_t operand) {
    const MapRequest::Operand& one = r.operands[operand];
    return data<std::byte>(one.allocation) + one.offset * static_cast<Size>(size_of(dtype));
  };
  const auto length = static_cast<std::size_t>(r.length);
  const auto rows = static_cast<std::size_t>(r.results);
  softmax_rows({memory(0), memory(1), rows / inner, length, inner, dtype, true});
  return true;
}

}  // namespace tilewright::cpu
