#include "core/scalar_table.hpp"

#include <bit>
#include <cmath>
#include <utility>

namespace tilewright {

namespace {

std::uint32_t half_bits(double value) noexcept {
  constexpr double past_largest = 65520, smallest_normal = 0x1p-14, subnormals = 0x1p24;
  constexpr std::uint32_t infinity = 0x7c00, quiet_nan = 0x7e00;
  const std::uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (std::isnan(value)) return sign | quiet_nan;
  if (size >= past_largest) return sign | infinity;
  // A carry out of the digits goes into the exponent, as it should.
  if (size < smallest_normal) {
    return sign | static_cast<std::uint32_t>(std::nearbyint(size * subnormals));
  }
  const int exponent = std::ilogb(size);
  const auto digits = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  return sign | ((static_cast<std::uint32_t>(exponent + 14) << 10) + digits);
}

}  // namespace

Scalar::Scalar(double value, DType dtype) noexcept
    : bits_(dtype == DType::float16 ? half_bits(value)
                                    : std::bit_cast<std::uint32_t>(static_cast<float>(value))),
      dtype_(dtype) {}

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
