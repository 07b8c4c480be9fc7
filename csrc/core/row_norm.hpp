#pragma once

#include <optional>

#include "core/call.hpp"
#include "core/requests.hpp"
#include "core/text.hpp"

namespace tilewright {

/// The norm of the rows of x that a product takes, as rmsnorm() has it.
struct RowNorm {
  bool is_asked = false;
  float eps = 0;
  BufferRange weight;  ///< may be null
};

inline RowNorm checked_norm(const Call& call, std::optional<double> eps,
                            std::optional<Buffer> weight, Size k, DType dtype) {
  RowNorm norm;
  if (weight && !eps) call.invalid("norm_weight needs norm_eps, which is not given");
  if (!eps) return norm;
  if (!(*eps >= 0 && *eps <= 3.0e38)) {
    call.invalid(text("norm_eps is ", *eps, ", expected a finite number, 0 or more"));
  }
  norm.is_asked = true;
  norm.eps = static_cast<float>(*eps);
  if (weight) norm.weight = call.buffer("norm_weight", *weight, k, dtype);
  return norm;
}

}  // namespace tilewright
