#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/program/program_data.hpp"
#include "gpu/device.hpp"
#include "gpu/plan.hpp"
#include "gpu/text/program_form.hpp"

// What launches share that walk the rows of a shape by strides.
namespace tilewright::gpu {

constexpr Size quad = 4;
constexpr std::uint64_t most_quad_bytes = 32;

constexpr Size groups_of(Size items, Size of_group) { return (items + of_group - 1) / of_group; }
constexpr Size bit_ceil(Size n) {
  return static_cast<Size>(std::bit_ceil(static_cast<std::uint64_t>(std::max<Size>(n, 1))));
}
constexpr Size magnitude(Size n) { return n < 0 ? -n : n; }

/// How far an operand goes from its first element, in elements.
struct Reach {
  Reach(std::span<const Size> shape, std::span<const Size> strides) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const Size step = (shape[d] - 1) * strides[d];
      (step < 0 ? before : behind) += magnitude(step);
    }
  }

  Size before = 0, behind = 0;
};

/// The operands of a launch: their bindings, and their starts and strides as parameters.
class FoldBindings {
 public:
  FoldBindings(const DeviceLimits& limits, std::uint64_t most, std::span<const Size> shape,
               std::size_t kept)
      : most_(most),
        alignment_(std::max<std::uint64_t>(limits.binding_alignment, most_quad_bytes)),
        shape_(shape),
        kept_(kept) {}

  /// Before operands are added: that the launch writes a buffer.
  void writes(DeviceBuffer& buffer) { written_.push_back(&buffer); }

  /// Along all dimensions, or along the kept ones alone.
  FoldOperand add(DeviceBuffer& buffer, DType dtype, Size first, std::span<const Size> strides,
                  bool whole, bool output) {
    const std::uint64_t size = size_of(dtype);
    const std::size_t rank = shape_.size();
    const Reach reach(shape_, strides);
    const std::uint64_t offset =
        static_cast<std::uint64_t>(first - reach.before) * size / alignment_ * alignment_;
    const auto start =
        static_cast<std::uint32_t>((static_cast<std::uint64_t>(first) * size - offset) / size);
    strided.push_back(start);
    for (std::size_t d = 0; d < (whole ? rank : kept_); ++d) strided.push_back(u32(strides[d]));
    // Neighbours along the innermost reduced dimension that lie on their size, four at a time.
    bool quads = whole && rank > kept_ && strides[rank - 1] == 1 && start % quad == 0;
    for (std::size_t d = 0; d + 1 < rank; ++d) {
      quads &= shape_[d] == 1 || strides[d] % quad == 0;
    }
    for (std::size_t d = kept_; d + 1 < rank; ++d) {
      quads &= shape_[d] == 1 || shape_[rank - 1] % quad == 0;
    }
    const auto binding = static_cast<std::uint8_t>(bindings.size());
    const bool is_written = std::ranges::find(written_, &buffer) != written_.end();
    bindings.push_back({&buffer, offset, std::min(buffer.bytes() - offset, most_)});
    return {dtype, quads ? FoldWalk::quads : FoldWalk::places, binding, output || is_written};
  }

  std::vector<Binding> bindings;
  std::vector<std::uint32_t> strided;

 private:
  const std::uint64_t most_, alignment_;
  const std::span<const Size> shape_;
  const std::size_t kept_;
  std::vector<DeviceBuffer*> written_;
};

/// The numbers of a program behind other parameters.
inline void append_numbers(std::vector<std::uint32_t>& params, const ProgramData& program,
                           std::span<const std::uint64_t> numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const DType dtype = program.nodes[program.numbers[i]].dtype;
    const std::uint64_t bits = class_bits(dtype, numbers[i]);
    params.push_back(static_cast<std::uint32_t>(bits));
    if (number_words(dtype) == 2) params.push_back(static_cast<std::uint32_t>(bits >> 32));
  }
}

}  // namespace tilewright::gpu
