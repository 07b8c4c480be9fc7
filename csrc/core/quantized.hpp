#pragma once

#include "core/call.hpp"
#include "core/text.hpp"
#include "tilewright/quantized.hpp"

namespace tilewright {

/// The planes of rows x cols weights behind a handle, whose sizes are checked.
inline BufferRange checked_planes(const Call& call, Buffer packed, QuantFormat format, Size rows,
                                  std::string_view cols_name, Size cols) {
  const Size block = quant_layout(format).block;
  if (cols % block != 0) {
    call.invalid(text(cols_name, " is ", cols, ", expected a multiple of ", block,
                      ", which a block of ", to_string(format), " has"));
  }
  call.mul(call.mul(rows, cols), 4);  // no plane has more bytes than that
  return call.buffer("packed", packed, quantized_bytes(format, rows, cols), DType::uint8);
}

}  // namespace tilewright
