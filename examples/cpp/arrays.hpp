#pragma once

#include <span>
#include <vector>

#include "tilewright/tilewright.hpp"

/// A new buffer with these numbers.
inline tilewright::Buffer upload(tilewright::Backend& be, const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  const tilewright::Buffer buffer = be.alloc(static_cast<tilewright::Size>(bytes.size()));
  be.copy_htod(buffer, bytes);
  return buffer;
}

/// All numbers of a buffer.
inline std::vector<float> download(tilewright::Backend& be, tilewright::Buffer buffer) {
  std::vector<float> values(static_cast<std::size_t>(be.buffer_bytes(buffer)) / sizeof(float));
  be.copy_dtoh(std::as_writable_bytes(std::span(values)), buffer);
  return values;
}
