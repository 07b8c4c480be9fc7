#pragma once

#include <cstddef>

#include "tilewright/types.hpp"

namespace tilewright::cpu {

/// Softmax, or its logarithm, along the second of three dimensions that lie densely.
struct SoftmaxRows {
  const void* x;
  void* output;
  std::size_t outer, length, inner;
  DType dtype;
  bool is_log;
};

void softmax_rows(const SoftmaxRows& rows);

}  // namespace tilewright::cpu
