#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/requests.hpp"
#include "gpu/device.hpp"

namespace tilewright::gpu {

struct Operand {
  const BufferRange* range;
  Access access;
};

/// The operands of a request, in the order of its operands().
class Operands {
 public:
  static constexpr std::size_t most = 16;

  template <class Request>
  explicit Operands(const Request& request) {
    Request::operands(request, [this](const BufferRange& range, Access access) {
      all_.at(count_++) = {&range, access};
    });
  }
  std::span<const Operand> all() const { return std::span(all_).first(count_); }

 private:
  std::array<Operand, most> all_;
  std::size_t count_ = 0;
};

/// A range that an op works on in a copy.
struct CopiedRange {
  BufferRange range;
  bool in, out;  ///< copied before the op, and back after it
};

/// What has to be copied so that launches can bind all operands: what starts where no binding may,
/// and on a device with one use of a buffer either what is read of it or what is written to it,
/// whichever moves fewer bytes.
std::vector<CopiedRange> copies_to_bind(std::span<const Operand> operands,
                                        const DeviceLimits& limits);

/// Whether nothing has to be. In line, where the number of operands is known and few comparisons
/// are left of the loops.
[[gnu::always_inline]] inline bool can_bind(std::span<const Operand> operands,
                                            const DeviceLimits& limits) {
  for (const Operand& operand : operands) {
    if ((operand.range->offset & (limits.binding_alignment - 1)) != 0) return false;
    if (!limits.one_use_of_buffer || operand.access == Access::read) continue;
    for (const Operand& other : operands) {
      if (other.range->allocation == operand.range->allocation && other.access == Access::read &&
          !(*other.range == *operand.range)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace tilewright::gpu
