#pragma once

#include <string_view>

namespace tilewright {

/// Whether the bytes are UTF-8: no stray or missing bytes, no overlong form, no surrogate.
bool is_utf8(std::string_view bytes);

}  // namespace tilewright
