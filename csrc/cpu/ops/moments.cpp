#include "cpu/ops/moments.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "core/requests.hpp"
#include "cpu/backend.hpp"

// Moments as two sums: of the elements, and of the squares of what they are off their mean.
namespace tilewright::cpu {

namespace {

using Programs = MomentsRewrites::Programs;

ProgramRef quotient_program(DType dtype) {
  Program program;
  const Program::Value total = program.input(dtype);
  program.output(program.apply("div", std::array{total, program.number(dtype)}));
  return program.data();
}

/// A request of the same elements: its operands, and their strides behind the shape.
FoldRequest request_of(const FoldRequest& r) {
  FoldRequest made;
  made.call = r.call;
  made.op = Reduction::sum;
  made.numbers = r.numbers;
  made.results = r.results;
  made.length = r.length;
  made.kept = r.kept;
  made.rank = r.rank;
  made.sizes.assign(r.shape().begin(), r.shape().end());
  return made;
}

void append(FoldRequest& to, MapRequest::Operand operand, std::span<const Size> strides) {
  to.operands.push_back(std::move(operand));
  to.sizes.insert(to.sizes.end(), strides.begin(), strides.end());
}

}  // namespace

Programs MomentsRewrites::of(const FoldRequest& r, DType dtype) {
  constexpr std::uint32_t quotients = 1, squares = 2, swapped = 3;
  const std::scoped_lock lock(mutex_);
  // The mean comes from memory, behind what is found.
  return {kept_.of(identity_program(dtype), quotients, [&] { return quotient_program(dtype); }),
          kept_.of(r.front, squares, [&] { return square_off_input(r.front); }),
          kept_.of(r.behind, swapped, [&] { return swap_inputs(r.behind); })};
}

void CpuBackend::moments(const FoldRequest& r) {
  const DType dtype = dtype_of(class_of(r.front->output_dtype()));
  const AllocationRef means = memory_->scratch(
      r.call, static_cast<std::uint64_t>(r.results) * static_cast<std::uint64_t>(size_of(dtype)));
  std::vector<Size> side_by_side(r.rank);
  Size step = 1;
  for (std::size_t d = r.kept; d-- > 0; step *= r.shape()[d]) side_by_side[d] = step;
  const std::size_t inputs = r.front->inputs.size();
  const Programs programs = rewrites_.of(r, dtype);

  FoldRequest first = request_of(r);
  first.front = r.front;
  first.behind = programs.quotient;
  first.behind_numbers = {Number(static_cast<double>(r.length)).bits(dtype, "the length")};
  for (std::size_t o = 0; o < inputs; ++o) append(first, r.operands[o], r.strides(o));
  append(first, {means, 0}, side_by_side);
  CpuBackend::do_map_reduce(first);

  FoldRequest second = request_of(r);
  second.front = programs.square;
  second.behind = programs.behind;
  second.behind_numbers = r.behind_numbers;
  for (std::size_t o = 0; o < inputs; ++o) append(second, r.operands[o], r.strides(o));
  append(second, {means, 0}, side_by_side);
  append(second, {means, 0}, side_by_side);
  for (std::size_t o = inputs; o < r.operands.size(); ++o) {
    append(second, r.operands[o], r.strides(o));
  }
  CpuBackend::do_map_reduce(second);
}

}  // namespace tilewright::cpu
