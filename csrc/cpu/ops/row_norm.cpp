#include "cpu/ops/row_norm.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cpu/kernels/program_table.hpp"
#include "cpu/ops/norm_row.hpp"
#include "cpu/ops/row_reader.hpp"

namespace tilewright::cpu {

namespace {

/// The norm that programs are: its numbers, and the operands of weight and bias where it has them.
struct RowNorm {
  float inverse, eps;
  std::optional<std::size_t> weight, bias;
};

/// x - total * inverse; its inverse.
std::optional<float> off_mean(const RowReader& program, std::uint32_t node,
                              std::span<const std::uint64_t> numbers) {
  const std::uint32_t* const off = program.of(node, ElementOp::sub_);
  if (off == nullptr || program.operand(off[0]) != std::size_t{0}) return {};
  const std::uint32_t* const mean = program.of(off[1], ElementOp::mul_);
  if (mean == nullptr || !program.is_found(mean[0], 0)) return {};
  return program.number(mean[1], numbers);
}

/// 1 / sqrt(squares * inverse + eps); its eps.
std::optional<float> over_deviation(const RowReader& program, std::uint32_t node, float inverse,
                                    std::span<const std::uint64_t> numbers) {
  const std::uint32_t* const quotient = program.of(node, ElementOp::div_);
  if (quotient == nullptr || program.number(quotient[0], numbers) != 1.0f) return {};
  const std::uint32_t* const root = program.of(quotient[1], ElementOp::sqrt_);
  const std::uint32_t* const sum = root ? program.of(root[0], ElementOp::add_) : nullptr;
  const std::uint32_t* const variance = sum ? program.of(sum[0], ElementOp::mul_) : nullptr;
  if (variance == nullptr || !program.is_found(variance[0], 1) ||
      program.number(variance[1], numbers) != inverse) {
    return {};
  }
  return program.number(sum[1], numbers);
}

std::optional<RowNorm> row_norm_of(const RowsRequest& r) {
  if (r.folds.size() != 2 || r.outputs != 1 || !r.elements.program || r.ends.program ||
      r.folds[0].op != Reduction::sum || r.folds[1].op != Reduction::sum) {
    return {};
  }
  const RowReader first(*r.folds[0].program, r.inputs), second(*r.folds[1].program, r.inputs);
  const std::uint32_t squares = r.folds[1].program->outputs[0];
  const std::uint32_t* const square = second.of(squares, ElementOp::mul_);
  if (first.operand(r.folds[0].program->outputs[0]) != std::size_t{0} || square == nullptr ||
      square[0] != square[1]) {
    return {};
  }
  const std::optional<float> inverse = off_mean(second, square[0], r.folds[1].numbers);
  const RowReader last(*r.elements.program, r.inputs);
  const std::span<const std::uint64_t> numbers = r.elements.numbers;
  RowNorm norm{};
  std::uint32_t node = r.elements.program->outputs[0];
  if (const std::uint32_t* const sum = last.of(node, ElementOp::add_)) {
    norm.bias = last.operand(sum[1]);
    if (!norm.bias) return {};
    node = sum[0];
  }
  const std::uint32_t* product = last.of(node, ElementOp::mul_);
  if (product == nullptr || !inverse) return {};
  if ((norm.weight = last.operand(product[1]))) {
    product = last.of(product[0], ElementOp::mul_);
    if (product == nullptr) return {};
  }
  const std::optional<float> eps = over_deviation(last, product[1], *inverse, numbers);
  if (off_mean(last, product[0], numbers) != inverse || !eps) return {};
  norm.inverse = *inverse;
  norm.eps = *eps;
  return norm;
}

bool lies_densely(const RowsRequest& r, std::size_t operand) {
  Size step = 1;
  for (std::size_t d = r.rank; d-- > 0; step *= r.shape()[d]) {
    if (r.strides(operand)[d] != step && r.shape()[d] > 1) return false;
  }
  return true;
}

/// Numbers of the channels of a row: one for each run of its elements.
struct Channels {
  const float* first = nullptr;
  Size of_row = 0, of_channel = 0;  ///< steps
};

/// None where an operand is not the same along all dimensions but those.
std::optional<Channels> channels_of(const RowsRequest& r, std::optional<std::size_t> operand) {
  if (!operand) return Channels{};
  const std::span<const Size> strides = r.strides(*operand);
  const std::size_t last = r.rank - 1;
  for (std::size_t d = 0; d + 1 < r.kept; ++d) {
    if (strides[d] != 0) return {};
  }
  if (strides[last] != 0) return {};
  const MapRequest::Operand& one = r.operands[*operand];
  return Channels{data<float>(one.allocation) + one.offset, r.kept > 0 ? strides[r.kept - 1] : 0,
                  last > r.kept ? strides[r.kept] : 0};
}

}  // namespace

bool takes_row_norm(const RowsRequest& r) {
  if (r.rank == r.kept || r.rank > r.kept + 2 || r.dtype_at(0) != DType::float32 ||
      r.dtype_at(r.inputs) != DType::float32) {
    return false;
  }
  const auto rows = static_cast<std::size_t>(r.results),
             length = static_cast<std::size_t>(r.length);
  // Few and long rows are shared among threads.
  if (rows < thread_count() && length > element_grain) return false;
  const std::optional<RowNorm> norm = row_norm_of(r);
  const bool is_mean =
      norm && norm->inverse == static_cast<float>(1.0 / static_cast<double>(length));
  if (!is_mean || !lies_densely(r, 0) || !lies_densely(r, r.inputs)) return false;
  const std::optional<Channels> weight = channels_of(r, norm->weight),
                                bias = channels_of(r, norm->bias);
  if (!weight || !bias) return false;
  const auto memory = [&](std::size_t operand) {
    const MapRequest::Operand& one = r.operands[operand];
    return data<float>(one.allocation) + one.offset;
  };
  const float* const input = memory(0);
  float* const output = memory(r.inputs);
  const auto channels = static_cast<std::size_t>(r.rank > r.kept + 1 ? r.shape()[r.kept] : 1);
  const std::size_t each = length / channels;
  const Size groups = r.kept > 0 ? r.shape()[r.kept - 1] : 1;
  // As many short rows at a time as stay in the nearest cache.
  constexpr std::size_t short_row = 256, at_hand = 2048;
  const bool is_short = length < short_row;
  const std::size_t at_once = is_short ? at_hand / length : 1;
  parallel_for(rows, element_grain / length + 1, [&](std::size_t begin, std::size_t end) {
    const std::size_t lines = std::min(at_once, end - begin) * channels;
    std::vector<float> numbers(4 * lines);
    float* const centres = numbers.data();
    float* const ones = centres + lines;
    float* const factors = ones + lines;
    float* const addends = factors + lines;
    std::fill_n(ones, lines, 1.0f);
    const std::array<RowsStage, 2> stages{RowsStage{ones, centres}, RowsStage{factors, addends}};
    const auto step = static_cast<std::ptrdiff_t>(each);
    std::array<float, at_hand> centre, offset, factor;
    for (std::size_t row = begin, now = 0; row < end; row += now) {
      now = std::min(at_once, end - row);
      const float* const x = input + row * length;
      if (is_short) {
        kernels().float32.row_scales(x, now, length, norm->eps, centre.data(), offset.data(),
                                     factor.data());
      } else {
        const RowScale scale = centred_scale(x, length, static_cast<double>(norm->eps));
        centre[0] = scale.centre;
        offset[0] = scale.offset;
        factor[0] = scale.factor;
      }
      for (std::size_t i = 0, line = 0; i < now; ++i) {
        const Size group = static_cast<Size>(row + i) % groups;
        for (std::size_t c = 0; c < channels; ++c, ++line) {
          const auto of = [&](const Channels& all) {
            return all.first[group * all.of_row + static_cast<Size>(c) * all.of_channel];
          };
          centres[line] = -centre[i];
          factors[line] = factor[i] * (weight->first != nullptr ? of(*weight) : 1.0f);
          addends[line] = (bias->first != nullptr ? of(*bias) : -0.0f) - offset[i] * factors[line];
        }
      }
      program_kernels().stages({x, step}, stages.data(), stages.size(),
                               {output + row * length, step}, now * channels, each);
    }
  });
  return true;
}

}  // namespace tilewright::cpu
