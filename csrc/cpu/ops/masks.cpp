#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/elements.hpp"
#include "cpu/thread_pool.hpp"
#include "cpu/words.hpp"

// What masks choose, eight bools at a time.
namespace tilewright::cpu {

namespace {

constexpr Size word = 8;

/// A word of bools: 1 in each byte that is not 0.
std::uint64_t truths(const std::uint8_t* mask) {
  std::uint64_t bytes;
  std::memcpy(&bytes, mask, sizeof(bytes));
  constexpr std::uint64_t low = 0x7f7f7f7f7f7f7f7f;
  return ((((bytes & low) + low) | bytes) & ~low) >> 7;
}

Size count_of(const std::uint8_t* mask, Size n) {
  constexpr Size most = 255;  // that a byte counts
  constexpr std::uint64_t pairs = 0x00ff00ff00ff00ff;
  Size count = 0, i = 0;
  while (i + word <= n) {
    std::uint64_t sums = 0;
    const Size end = i + std::min((n - i) / word, most) * word;
    for (; i < end; i += word) sums += truths(mask + i);
    sums = (sums & pairs) + ((sums >> 8) & pairs);
    count += static_cast<Size>((sums * 0x0001000100010001) >> 48);
  }
  for (; i < n; ++i) count += mask[i] != 0 ? 1 : 0;
  return count;
}

/// Writes of(i) to `to` for each i in [begin, end) whose bool is true, `room` at most.
template <class T, class Of>
Size choose(const std::uint8_t* mask, Size begin, Size end, T* to, Size room, const Of& of) {
  constexpr std::uint64_t all = 0x0101010101010101;
  Size k = 0, i = begin;
  for (; i + word <= end; i += word) {
    std::uint64_t chosen = truths(mask + i);
    if (chosen == 0) continue;
    if (k + word > room) {
      for (; chosen != 0 && k < room; chosen &= chosen - 1) {
        to[k++] = of(i + std::countr_zero(chosen) / 8);
      }
      if (k == room) return k;
    } else if (chosen == all) {
      for (Size j = 0; j < word; ++j) to[k + j] = of(i + j);
      k += word;
    } else {
      for (Size j = 0; j < word; ++j) {
        to[k] = of(i + j);
        k += static_cast<Size>((chosen >> (8 * j)) & 1);
      }
    }
  }
  for (; i < end && k < room; ++i) {
    if (mask[i] != 0) to[k++] = of(i);
  }
  return k;
}

/// body(first, past, at, room) for each block: its elements, and where they go.
template <class Body>
void for_blocks(const MaskRequest& r, const Body& body) {
  const auto* counts = data<std::uint32_t>(r.counts);
  const Size blocks = mask_counts_size(r.n) - 1;
  parallel_for(static_cast<std::size_t>(blocks), element_grain / mask_block,
               [&](std::size_t begin, std::size_t end) {
                 for (auto b = static_cast<Size>(begin); b < static_cast<Size>(end); ++b) {
                   const Size at = std::min<Size>(counts[b], r.count);
                   const Size past = std::min<Size>(counts[b + 1], r.count);
                   if (past <= at) continue;
                   body(b * mask_block, std::min(r.n, (b + 1) * mask_block), at, past - at);
                 }
               });
}

/// The places along each axis, line by line of the last one.
template <class T>
void places(const MaskRequest& r) {
  const auto* mask = data<std::uint8_t>(r.mask);
  T* const output = data<T>(r.output);
  const std::size_t last = r.shape.size() - 1;
  const Size length = r.shape[last];
  for_blocks(r, [&](Size first, Size past, Size at, Size room) {
    std::array<Size, max_rank> place{};
    Size rest = first / length;
    for (std::size_t d = last; d-- > 0;) {
      place[d] = rest % r.shape[d];
      rest /= r.shape[d];
    }
    while (first < past && room > 0) {
      const Size start = first / length * length, end = std::min(past, start + length);
      T* const to = output + static_cast<Size>(last) * r.count + at;
      const Size found =
          choose(mask, first, end, to, room, [&](Size i) { return static_cast<T>(i - start); });
      for (std::size_t d = 0; d < last; ++d) {
        std::fill_n(output + static_cast<Size>(d) * r.count + at, found, static_cast<T>(place[d]));
      }
      at += found;
      room -= found;
      first = end;
      for (std::size_t d = last; d-- > 0;) {
        if (++place[d] < r.shape[d]) break;
        place[d] = 0;
      }
    }
  });
}

}  // namespace

void CpuBackend::do_mask_counts(const MaskRequest& r) {
  const auto* mask = data<std::uint8_t>(r.mask);
  auto* counts = data<std::uint32_t>(r.counts);
  const Size blocks = mask_counts_size(r.n) - 1;
  parallel_for(static_cast<std::size_t>(blocks), element_grain / mask_block,
               [&](std::size_t begin, std::size_t end) {
                 for (auto b = static_cast<Size>(begin); b < static_cast<Size>(end); ++b) {
                   const Size first = b * mask_block;
                   counts[b] = static_cast<std::uint32_t>(
                       count_of(mask + first, std::min(mask_block, r.n - first)));
                 }
               });
  std::uint32_t before = 0;
  for (Size b = 0; b < blocks; ++b) {
    const std::uint32_t own = counts[b];
    counts[b] = before;
    before += own;
  }
  counts[blocks] = before;
}

void CpuBackend::do_nonzero(const MaskRequest& r) {
  if (r.dtype == DType::int32) return places<std::int32_t>(r);
  places<std::int64_t>(r);
}

void CpuBackend::do_compact(const MaskRequest& r) {
  with_item(size_of(r.dtype), [&]<class T>(T) {
    const auto* mask = data<std::uint8_t>(r.mask);
    const T* const source = data<T>(r.source);
    T* const output = data<T>(r.output);
    for_blocks(r, [&](Size first, Size past, Size at, Size room) {
      choose(mask, first, past, output + at, room, [&](Size i) { return source[i]; });
    });
  });
}

}  // namespace tilewright::cpu
