#include "core/utf8.hpp"

#include <cstddef>
#include <cstdint>

namespace tilewright {

bool is_utf8(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size();) {
    const auto first = static_cast<unsigned char>(bytes[i++]);
    if (first < 0x80) continue;
    const int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
    if (more == 0 || first > 0xf4) return false;
    std::uint32_t point = first & (0x3fu >> more);
    for (int k = 0; k < more; ++k, ++i) {
      if (i == bytes.size() || (static_cast<unsigned char>(bytes[i]) & 0xc0) != 0x80) return false;
      point = point << 6 | (static_cast<unsigned char>(bytes[i]) & 0x3f);
    }
    constexpr std::uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    if (point < least[more] || point > 0x10ffff || (point >> 11) == 0x1b) return false;
  }
  return true;
}

}  // namespace tilewright
