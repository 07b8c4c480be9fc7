#include "cpu/elements.hpp"

#include "core/kept.hpp"
#include "cpu/processor.hpp"

namespace tilewright::cpu {

Store store_for(std::size_t output_bytes, bool in_place) {
  static constinit Kept<std::size_t> kept;
  const std::size_t too_large = kept.get([] {
    constexpr std::size_t usual_cache = 32 << 20;
    const std::size_t cache = last_cache_bytes();
    return (cache == 0 ? usual_cache : cache) / 2;
  });
  return !in_place && output_bytes > too_large ? Store::streaming : Store::cached;
}

}  // namespace tilewright::cpu
