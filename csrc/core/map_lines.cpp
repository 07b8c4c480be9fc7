#include "core/map_lines.hpp"

#include <cstdlib>

#include "core/program/program_data.hpp"

namespace tilewright {

std::optional<std::size_t> dimension_of_lines(const MapRequest& r) {
  constexpr Size line_bytes = 64;
  const ProgramData& data = *r.program;
  const auto is_apart = [](Size stride, Size size) {
    return (stride < 0 ? -stride : stride) * size >= line_bytes;
  };
  for (std::size_t operand = 0; operand < r.operands.size(); ++operand) {
    const std::size_t inputs = data.inputs.size();
    const std::uint32_t node =
        operand < inputs ? data.inputs[operand] : data.outputs[operand - inputs];
    const auto size = static_cast<Size>(size_of(data.nodes[node].dtype));
    const std::span<const Size> strides = r.strides(operand);
    if (!is_apart(strides[r.rank - 1], size)) continue;
    std::optional<std::size_t> best;
    for (std::size_t d = 0; d + 1 < r.rank; ++d) {
      if (strides[d] == 0 || is_apart(strides[d], size)) continue;
      // Of two that are near, the nearer one.
      if (!best || std::abs(strides[d]) < std::abs(strides[*best])) best = d;
    }
    if (best) return best;
  }
  return std::nullopt;
}

}  // namespace tilewright
