#include "cpu/sort/select_row.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "cpu/kernels/sort_table.hpp"
#include "cpu/kernels/table.hpp"

namespace tilewright::cpu {

bool limit_of_row(const float* x, std::size_t n, std::size_t k, bool largest, float& limit) {
  // Four groups for each that is wanted: their k-th is near that of all elements.
  constexpr std::size_t least_groups = 32, most_groups = 1024;
  const std::size_t groups = std::max(least_groups, std::bit_ceil(4 * k));
  alignas(64) std::array<float, most_groups> ends;
  std::copy_n(x, groups, ends.data());
  const auto join = largest ? kernels().float32.max_rows : kernels().float32.min_rows;
  join(x + groups, n / groups - 1, groups, groups, ends.data());
  // In the order of whole numbers, so that the k-th counts from the end; NaN comes first.
  alignas(64) std::array<std::int32_t, most_groups> keys, sorted, spare;
  for (std::size_t i = 0; i < groups; ++i) {
    const float end = largest ? ends[i] : -ends[i];
    const auto bits = std::bit_cast<std::int32_t>(end);
    const std::int32_t key = bits ^ ((bits >> 31) & 0x7fffffff);
    keys[i] = end != end ? std::numeric_limits<std::int32_t>::min() : key;
  }
  sort_table().keys32.sort(keys.data(), sorted.data(), spare.data(), groups);
  const std::int32_t key = sorted[groups - k];
  if (key == std::numeric_limits<std::int32_t>::min()) return false;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float last = std::bit_cast<float>(key ^ ((key >> 31) & 0x7fffffff));
  // What is as large as the last one comes before the number below it.
  if (last == -infinity) return false;
  const float below = std::nextafter(last, -infinity);
  limit = largest ? below : -below;
  return true;
}

}  // namespace tilewright::cpu
