#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright {

/// FNV-1a: the same number on every machine, for names of files and for telling texts apart.
constexpr std::uint64_t hash_of(std::string_view text,
                                std::uint64_t start = 0xcbf29ce484222325) noexcept {
  for (char c : text) start = (start ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return start;
}

inline std::string hexadecimal(std::uint64_t number) {
  std::string digits(16, '0');
  for (std::size_t i = digits.size(); i-- > 0; number >>= 4) {
    digits[i] = "0123456789abcdef"[number & 15];
  }
  return digits;
}

}  // namespace tilewright
