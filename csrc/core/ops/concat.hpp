#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/call.hpp"
#include "core/map_operands.hpp"
#include "core/requests.hpp"
#include "core/text.hpp"

namespace tilewright {

struct ConcatPart {
  MapRequest::Operand operand;
  Size length;  ///< of its rows, in elements
};

/// Rows of the output are those of the parts one after the other. No part is empty.
struct ConcatRequest {
  std::vector<ConcatPart> parts;
  MapRequest::Operand output;
  Size rows, length;  ///< of the output
  DType dtype;

  /// By this supports() asks, of small buffers x.
  static void ask(auto& be, const auto& q) {
    const std::array<MapOperand, 2> inputs{q.x[0], q.x[1]};
    constexpr std::array<Size, 2> sizes{3, 5}, shape{1, 8};
    be.concat(inputs, sizes, q.x[2], shape, 1, q.dtype);
  }
};

inline std::optional<ConcatRequest> checked_concat(
    const Call& call, std::span<const MapOperand> inputs, std::span<const Size> sizes,
    const MapOperand& output, std::span<const Size> shape, Size axis, DType dtype) {
  static const Names input_names("inputs"), size_names("sizes");
  call.known("dtype", dtype);
  call.shape("shape", shape);
  const std::size_t along = call.axis(axis, shape);
  if (sizes.size() != inputs.size()) {
    call.invalid(text("sizes has ", sizes.size(), " sizes, and inputs has ", inputs.size(),
                      " operands; expected one size for each"));
  }
  ConcatRequest r;
  r.dtype = dtype;
  r.rows = call.product(shape.first(along));
  const Size inner = call.product(shape.subspan(along + 1));
  r.length = call.mul(shape[along], inner);
  const auto item = static_cast<Size>(size_of(dtype));
  const auto is_dense = [&](const MapOperand& operand, Size along_axis) {
    const std::span<const Size> strides = operand.strides;
    if (strides.size() < 2) return strides.empty() || strides[0] == 1;
    Size expected = 1;
    bool is = strides.size() == shape.size();
    for (std::size_t d = shape.size(); is && d-- > 0;) {
      const Size size = d == along ? along_axis : shape[d];
      is = size == 1 || strides[d] == expected;
      expected *= size;
    }
    return is;
  };
  /// The bytes of an operand, as a range of its allocation.
  const auto checked = [&](std::string_view name, const MapOperand& operand, Size along_axis) {
    const Size elements = call.product({r.rows, along_axis, inner});
    if (elements != 0 && !is_dense(operand, along_axis)) {
      call.invalid(text(name, " has strides, expected elements side by side; pass it to map()"));
    }
    if (operand.offset < 0) {
      call.invalid(text(name, ".offset is ", operand.offset, ", expected 0 or more"));
    }
    const Size past = elements == 0 ? 0 : call.add(operand.offset, elements);
    BufferRange range = call.buffer(name, operand.buffer, past, dtype);
    const auto skipped = static_cast<std::uint64_t>(elements == 0 ? 0 : operand.offset * item);
    range.offset += skipped;
    range.bytes -= skipped;
    return range;
  };
  const auto started = [&](const BufferRange& range) {
    return MapRequest::Operand{range.allocation, static_cast<Size>(range.offset) / item};
  };
  const BufferRange to = checked("output", output, shape[along]);
  r.output = started(to);
  r.parts.reserve(inputs.size());
  Size total = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::string made;
    call.not_negative(size_names.of(i, made), sizes[i]);
    total = call.add(total, sizes[i]);
    const std::string_view name = input_names.of(i, made);
    const BufferRange from = checked(name, inputs[i], sizes[i]);
    if (from.bytes == 0) continue;
    call.apart("output", to, name, from);
    r.parts.push_back({started(from), sizes[i] * inner});
  }
  if (total != shape[along]) {
    call.invalid(
        text("sizes add up to ", total, ", expected shape[", along, "], which is ", shape[along]));
  }
  if (to.bytes == 0) return std::nullopt;
  return r;
}

}  // namespace tilewright
