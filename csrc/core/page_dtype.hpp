#pragma once

#include "core/call.hpp"
#include "core/text.hpp"

namespace tilewright {

/// How pages of keys and values are stored, beside other operands of `dtype`.
inline DType check_page_dtype(const Call& call, DType page_dtype, DType dtype, bool has_scales) {
  call.known("page_dtype", page_dtype);
  const bool whole = page_dtype == DType::int8;
  if (!whole && page_dtype != DType::float16 && page_dtype != dtype) {
    call.invalid(text("page_dtype is ", to_string(page_dtype), ", expected ",
                      dtype == DType::float16 ? "" : "float32, ", "float16 or int8"));
  }
  if (whole && !has_scales) call.invalid("page_dtype int8 needs page_scales, which is not given");
  if (!whole && has_scales) {
    call.invalid(
        text("page_scales goes with the page_dtype int8, not with ", to_string(page_dtype)));
  }
  return page_dtype;
}

}  // namespace tilewright
