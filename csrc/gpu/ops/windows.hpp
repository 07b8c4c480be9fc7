#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "core/requests.hpp"
#include "core/text.hpp"
#include "gpu/device.hpp"
#include "tilewright/error.hpp"
#include "tilewright/types.hpp"

// Operands of which one binding does not hold all: some lines of each at a time.
namespace tilewright::gpu {

/// Lines of an operand, `pitch` bytes from one to the next, of `length` bytes.
struct Lines {
  std::uint64_t pitch, length;
};

/// How many of `all` lines at a time `most` bytes hold of each operand, such that bindings may
/// start on the first of every part; 0 where they do not hold so many.
inline Size lines_within(std::uint64_t most, std::uint64_t alignment, Size all,
                         std::initializer_list<Lines> operands) {
  const auto all_lines = static_cast<std::uint64_t>(all);
  std::uint64_t fitting = all_lines, step = 1;
  for (const Lines& of : operands) {
    // By powers of two, as the alignment is one.
    const std::uint64_t part = of.pitch == 0 ? alignment : of.pitch & (~of.pitch + 1);
    step = std::max(step, alignment / std::min(alignment, part));
    if (of.length > most) return 0;
    if (of.pitch != 0) fitting = std::min(fitting, (most - of.length) / of.pitch + 1);
  }
  return static_cast<Size>(fitting == all_lines ? fitting : fitting / step * step);
}

/// The same of a binding.
inline Size lines_of_window(const DeviceLimits& limits, Size all,
                            std::initializer_list<Lines> operands) {
  return lines_within(limits.max_binding_bytes, limits.binding_alignment, all, operands);
}

/// Rows of x and y whose float32 sums, so many each, are kept at a time until all of a row are
/// there; 0 where a binding does not hold them.
inline Size kept_rows(const DeviceLimits& limits, Size rows, Size sums, std::uint64_t pitch_of_x,
                      std::uint64_t pitch_of_y) {
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 28;
  const std::uint64_t alignment = limits.binding_alignment;
  const auto row = static_cast<std::uint64_t>(sums) * sizeof(float);
  // The sums of all parts start at one place.
  const std::uint64_t pitch = (row + alignment - 1) / alignment * alignment;
  return lines_within(std::min(most_bytes, limits.max_binding_bytes), alignment, rows,
                      {{pitch, row}, {pitch_of_x, 0}, {pitch_of_y, 0}});
}

/// What is left of a range from so many bytes on; their parts' ends are where requests say.
inline BufferRange behind(const BufferRange& range, std::uint64_t bytes) {
  return {range.allocation, range.offset + bytes, range.bytes - bytes};
}

/// Where not even one such part fits.
[[noreturn]] inline void no_window(std::string_view op, std::uint64_t bytes,
                                   const DeviceLimits& limits) {
  throw Unsupported(text(op, ": an argument of ", bytes, " bytes, of which one binding holds ",
                         limits.max_binding_bytes,
                         ", and its lines cannot be cut so; split the work into smaller calls"));
}

}  // namespace tilewright::gpu
