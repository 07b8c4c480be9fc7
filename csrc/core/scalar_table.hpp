#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/requests.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

/// A number as an element of a dtype, rounded to the nearest, ties to even.
class Scalar {
 public:
  /// As float32 or float16.
  Scalar(double value, DType dtype) noexcept;
  /// Of the lowest bits.
  static Scalar of_bits(std::uint64_t bits, DType dtype) noexcept;
  std::span<const std::byte> bytes() const {
    return std::as_bytes(std::span(&bits_, 1)).first(size_of(dtype_));
  }
  bool operator==(const Scalar&) const = default;

 private:
  std::uint64_t bits_;  // in the first bytes, on the little-endian machines that there are
  DType dtype_;
};

/// The numbers that ops lately took in an operand's place, each in memory of its own on the device,
/// so that it is uploaded once. Not synchronised: the owner holds a lock.
class ScalarTable {
 public:
  /// Null where the number is not kept.
  AllocationRef find(const Scalar& scalar) const noexcept;
  /// In place of the one that has been kept longest, where the table is full; the bytes of that.
  std::uint64_t insert(const Scalar& scalar, AllocationRef allocation) noexcept;
  /// The bytes that it lets go of.
  std::uint64_t clear() noexcept;
  std::uint64_t bytes() const noexcept;

 private:
  struct Entry {
    Scalar scalar{0, DType::float32};
    AllocationRef allocation;
  };
  std::array<Entry, 32> entries_;
  std::size_t next_ = 0;
};

}  // namespace tilewright
