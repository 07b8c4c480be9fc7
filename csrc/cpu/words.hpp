#pragma once

#include <cstddef>
#include <cstdint>

#include "tilewright/types.hpp"

namespace tilewright::cpu {

/// An element of 16 bytes.
struct WideItem {
  std::uint64_t low, high;
};

/// Calls body(T{}) with what holds an element of so many bytes.
template <class Body>
void with_item(std::size_t bytes, const Body& body) {
  switch (bytes) {
    case 1:
      return body(std::uint8_t{});
    case 2:
      return body(std::uint16_t{});
    case 4:
      return body(std::uint32_t{});
    case 8:
      return body(std::uint64_t{});
    default:
      return body(WideItem{});
  }
}

/// Calls body(T{}) with the type of a dtype of integers.
template <class Body>
void with_integer(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::int8:
      return body(std::int8_t{});
    case DType::int16:
      return body(std::int16_t{});
    case DType::int32:
      return body(std::int32_t{});
    case DType::uint8:
      return body(std::uint8_t{});
    case DType::uint16:
      return body(std::uint16_t{});
    case DType::uint32:
      return body(std::uint32_t{});
    case DType::uint64:
      return body(std::uint64_t{});
    default:
      return body(std::int64_t{});
  }
}

}  // namespace tilewright::cpu
