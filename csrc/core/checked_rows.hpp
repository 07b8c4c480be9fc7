#pragma once

#include <string_view>

#include "core/call.hpp"
#include "core/text.hpp"

namespace tilewright {

/// A matrix whose rows begin ld elements apart: of no elements ld may be 0. `least` is what ld is
/// at least, as the message calls it.
inline BufferRange checked_rows(const Call& call, std::string_view name, Buffer handle, Size rows,
                                Size cols, std::string_view ld_name, Size ld,
                                std::string_view least, DType dtype) {
  const bool empty = rows == 0 || cols == 0;
  if (ld < cols && !(empty && ld == 0)) {
    call.invalid(text(ld_name, " is ", ld, ", expected at least ", least, ", which is ", cols));
  }
  return call.buffer(name, handle, empty ? 0 : call.spanned(ld_name, rows, ld, cols), dtype);
}

}  // namespace tilewright
