#include "core/scalar_table.hpp"

#include <bit>
#include <utility>

#include "core/small_floats.hpp"

namespace tilewright {

Scalar::Scalar(double value, DType dtype) noexcept
    : bits_(dtype == DType::float16 ? half_bits(value)
                                    : std::bit_cast<std::uint32_t>(static_cast<float>(value))),
      dtype_(dtype) {}

Scalar Scalar::of_bits(std::uint64_t bits, DType dtype) noexcept {
  Scalar made(0, DType::float32);
  made.bits_ = bits;
  made.dtype_ = dtype;
  return made;
}

AllocationRef ScalarTable::find(const Scalar& scalar) const noexcept {
  for (const Entry& entry : entries_) {
    if (entry.allocation && entry.scalar == scalar) return entry.allocation;
  }
  return nullptr;
}

std::uint64_t ScalarTable::insert(const Scalar& scalar, AllocationRef allocation) noexcept {
  Entry& entry = entries_[next_];
  const std::uint64_t before = entry.allocation ? entry.allocation->bytes() : 0;
  entry = {scalar, std::move(allocation)};
  next_ = (next_ + 1) % entries_.size();
  return before;
}

std::uint64_t ScalarTable::clear() noexcept {
  const std::uint64_t before = bytes();
  entries_.fill({});
  return before;
}

std::uint64_t ScalarTable::bytes() const noexcept {
  std::uint64_t all = 0;
  for (const Entry& entry : entries_) all += entry.allocation ? entry.allocation->bytes() : 0;
  return all;
}

}  // namespace tilewright
