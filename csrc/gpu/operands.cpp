#include "gpu/operands.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "gpu/backend.hpp"

namespace tilewright::gpu {

namespace {

/// A range, with what an op does to it as one operand or several.
struct Use {
  BufferRange range;
  bool written, before_matters, copied;

  std::uint64_t bytes_to_copy() const {
    return range.bytes * ((before_matters ? 1 : 0) + (written ? 1 : 0));
  }
};

std::vector<Use> uses_of(std::span<const Operand> operands) {
  std::vector<Use> uses;
  for (const Operand& operand : operands) {
    if (!*operand.range) continue;
    auto use = std::ranges::find(uses, *operand.range, &Use::range);
    if (use == uses.end()) use = uses.insert(use, {*operand.range, false, false, false});
    use->written = use->written || operand.access != Access::read;
    use->before_matters = use->before_matters || operand.access != Access::write;
  }
  return uses;
}

/// Leaves one use of the allocation: either what is written stays, or what is only read.
void keep_one_use(std::vector<Use>& uses, const AllocationRef& allocation) {
  std::uint64_t read = 0, written = 0;
  for (const Use& use : uses) {
    if (use.range.allocation != allocation || use.copied) continue;
    (use.written ? written : read) += use.bytes_to_copy();
  }
  for (Use& use : uses) {
    if (use.range.allocation == allocation && use.written == (written < read)) use.copied = true;
  }
}

}  // namespace

std::vector<CopiedRange> copies_to_bind(std::span<const Operand> operands,
                                        const DeviceLimits& limits) {
  std::vector<Use> uses = uses_of(operands);
  for (Use& use : uses) use.copied = use.range.offset % limits.binding_alignment != 0;
  if (limits.one_use_of_buffer) {
    for (const Use& use : uses) {
      if (use.written && !use.copied) keep_one_use(uses, use.range.allocation);
    }
  }
  std::vector<CopiedRange> copies;
  for (const Use& use : uses) {
    if (use.copied) copies.push_back({use.range, use.before_matters, use.written});
  }
  return copies;
}

std::vector<GpuBackend::StandIn> GpuBackend::take_stand_ins(std::string_view op,
                                                            std::span<const Operand> operands) {
  std::vector<StandIn> stand_ins;
  for (const CopiedRange& copied : copies_to_bind(operands, device_->limits())) {
    // An operand without elements is bound too.
    const std::uint64_t bytes = std::max<std::uint64_t>(copied.range.bytes, 1);
    stand_ins.push_back({copied, memory_->scratch(op, bytes)});
  }
  for (const auto& [copied, scratch] : stand_ins) {
    if (copied.in && copied.range.bytes != 0) {
      do_copy_dtod(*scratch, *copied.range.allocation, copied.range.bytes, 0, copied.range.offset);
    }
  }
  return stand_ins;
}

void GpuBackend::copy_back(std::span<const StandIn> stand_ins) {
  for (const auto& [copied, scratch] : stand_ins) {
    if (copied.out && copied.range.bytes != 0) {
      do_copy_dtod(*copied.range.allocation, *scratch, copied.range.bytes, copied.range.offset, 0);
    }
  }
}

}  // namespace tilewright::gpu
