#include <cstddef>
#include <cstdint>
#include <span>

#include "core/program/program_data.hpp"
#include "cpu/memory.hpp"
#include "cpu/softmax.hpp"

namespace tilewright::cpu {

namespace {

/// Reads programs of rows: what is element, and what a fold found.
class Reader {
 public:
  explicit Reader(const ProgramData& program) : program_(program) {}

  /// The element, widened where it has 16 bits.
  bool is_element(std::uint32_t node) const {
    const ProgramNode& one = program_.nodes[node];
    if (one.kind == NodeKind::cast) {
      return one.dtype == DType::float32 && is_input(one.operands[0], 0) &&
             program_.nodes[one.operands[0]].dtype == DType::float16;
    }
    return one.dtype == DType::float32 && is_input(node, 0);
  }
  bool is_found(std::uint32_t node, std::uint64_t fold) const { return is_input(node, 1 + fold); }
  /// The operands of an op of float32; none of anything else.
  const std::uint32_t* of(std::uint32_t node, ElementOp op) const {
    const ProgramNode& one = program_.nodes[node];
    const bool is_op = one.kind == NodeKind::op && one.op == op && one.dtype == DType::float32;
    return is_op ? one.operands.data() : nullptr;
  }
  /// The element less what the first fold found.
  bool is_off_first(std::uint32_t node) const {
    const std::uint32_t* const off = of(node, ElementOp::sub_);
    return off != nullptr && is_element(off[0]) && is_found(off[1], 0);
  }
  /// What the output is, before it is rounded to 16 bits.
  std::uint32_t result() const {
    const std::uint32_t last = program_.outputs[0];
    const ProgramNode& one = program_.nodes[last];
    const bool is_rounded = one.kind == NodeKind::cast && one.dtype == DType::float16;
    return is_rounded ? one.operands[0] : last;
  }

 private:
  bool is_input(std::uint32_t node, std::uint64_t at) const {
    return program_.nodes[node].kind == NodeKind::input && program_.nodes[node].bits == at;
  }
  const ProgramData& program_;
};

bool is_log_softmax(const RowsRequest& r) {
  if (r.inputs != 1 || r.outputs != 1 || r.folds.size() != 2 || !r.elements.program ||
      r.ends.program || r.folds[0].op != Reduction::max || r.folds[1].op != Reduction::sum) {
    return false;
  }
  const Reader first(*r.folds[0].program), second(*r.folds[1].program),
      last(*r.elements.program);
  if (!first.is_element(r.folds[0].program->outputs[0])) return false;
  const std::uint32_t* const power = second.of(second.result(), ElementOp::exp_);
  if (power == nullptr || !second.is_off_first(power[0])) return false;
  const std::uint32_t* const off = last.of(last.result(), ElementOp::sub_);
  if (off == nullptr || !last.is_off_first(off[0])) return false;
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
