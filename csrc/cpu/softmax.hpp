#pragma once

#include <cstddef>

#include "core/ops/map_rows.hpp"
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

/// Whether a request is the logarithm of a softmax of such rows, which is then computed.
bool takes_log_softmax(const RowsRequest& r);

}  // namespace tilewright::cpu
